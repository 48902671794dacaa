# Sourced by run: what is made on a machine with compilers, for one without.
# shellcheck shell=bash disable=SC2154

programs=(gpu-facts gpu-check-kernels gpu-virtual-ranks gpu-nccl-ranks gpu-bandwidth)

# Construction, N, c and wire of each plan, one a line: about a hundred.
plan_list() {
  local workers wire r
  if [ -n "$few" ]; then
    printf '%s\n' 'ring 2 2 f32' 'ring 4 4 f16' 'optimized 4 6 f32' 'differential 4 16 fx16'
    return
  fi
  for wire in f32 fx16; do echo "ring 2 2 $wire"; done
  for workers in 4 8; do
    for wire in f32 bf16 f16 fx16 fx12 fx8; do
      echo "ring $workers $workers $wire"
      echo "differential $workers $((workers * 4)) $wire"
      # Kernels do not depend on N but for sizes of tables; designing the larger codes is what takes time.
      [ "$workers" = 4 ] || [[ $wire == f32 || $wire == fx16 ]] || continue
      echo "optimized $workers $((workers * 3 / 2)) $wire"
      echo "optimized $workers $((workers * 2)) $wire"
      echo "optimized $workers $((workers * 3)) $wire"
      for r in 2 3 8 16; do echo "differential $workers $((workers * r)) $wire"; done
    done
    for r in 5 6 7 9 10 11 12 13 14 15; do echo "differential $workers $((workers * r)) f32"; done
  done
}

# make_plan CONSTRUCTION N C WIRE: into $directory/plans. Without NVRTC, files of the same form that only the
# stand-in for the driver takes.
make_plan() {
  local plan=$directory/plans/n$2-$1-c$3-$4
  [ "$plan/plan.yaml" -nt "$build/bin/cerar-tune" ] && return
  if grep -qs '^CERAR_CUBINS:INTERNAL=ON' "$build/CMakeCache.txt"; then
    "$build/bin/cerar-tune" --topology local --workers "$2" --construction "$1" --components "$3" --wire "$4" \
      --max-error 1 --arch sm_80,sm_90 --out "$plan" >/dev/null || return 1
  else
    "$build/bin/device_make_plan" "$plan" "$1" "$2" "$3" 2 "$4" 0 || return 1
  fi
}

make_plans() {
  export -f make_plan
  export build directory
  mkdir -p "$directory/plans"
  plan_list | xargs -P "$(nproc)" -L 1 bash -c 'make_plan "$@" || { echo "no plan: $*" >&2; exit 1; }' -
}

# Shared libraries that a file needs, with their paths: without the C library, the driver and NCCL.
needed_libraries() {
  ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|libcuda|libnccl)\.so'
}

# NCCL of the folder CERAR_GPU_NCCL, as far as the GPUs that plans have cubins for need it, one file for each.
prepare_nccl() {
  local architecture
  rm -rf "$directory/nccl"
  [ -n "${CERAR_GPU_NCCL:-}" ] || return 0
  mkdir -p "$directory/nccl"
  strip --strip-unneeded -o "$directory/nccl/stripped" "$CERAR_GPU_NCCL/libnccl.so.2" || return 1
  for architecture in ${CERAR_GPU_NCCL_ARCH:-80 90}; do
    "$here/thin_nccl.py" "$directory/nccl/stripped" "$architecture" "$directory/nccl/sm_$architecture.gz" || return 1
  done
  rm "$directory/nccl/stripped"
}

# prepare DIR: everything that --use needs. Plans that are there and newer than cerar-tune are kept: making all of
# them takes minutes.
prepare() {
  directory=$1
  build=${build:-$root/build/ci}
  local program
  if [ -z "${CERAR_GPU_BUILT:-}" ]; then
    cmake --build "$build" --target "${programs[@]}" cerar-tune >&2 || return 1
  fi
  rm -rf "${directory:?}/bin" "${directory:?}/lib" "${directory:?}/libc"
  mkdir -p "$directory/bin" "$directory/lib" "$directory/libc"
  directory=$(cd "$directory" && pwd)
  for program in "${programs[@]}"; do
    cp "$build/bin/$program" "$directory/bin/" || return 1
    strip "$directory/bin/$program"
  done
  # shellcheck disable=SC2046
  cp -L $(needed_libraries "$directory"/bin/*) "$directory/lib/" || return 1
  strip --strip-unneeded "$directory"/lib/*
  # For machines with an older C library than this one.
  # shellcheck disable=SC2046
  cp -L /lib64/ld-linux-x86-64.so.2 $(ldconfig -p | awk '/x86-64/ && $1 ~ /^lib(c|m|dl|rt|pthread|resolv)\.so\.[0-9]+$/ { print $NF }' | sort -u) "$directory/libc/" || return 1
  make_plans || return 1
  prepare_nccl || return 1
  echo "$directory: $(du -sm "$directory" | cut -f1) MiB, $(find "$directory/plans" -name plan.yaml | wc -l) plans"
}

# collect DIR: what the runtime's own build needs, for CERAR_GPU_PREFIX.
collect() {
  local target=$1 header
  local library=$target/lib/x86_64-linux-gnu # where the packages' CMake files expect it
  mkdir -p "$target/include" "$library/cmake"
  for header in fmt yaml-cpp openssl x86_64-linux-gnu/openssl; do
    [ ! -d "/usr/include/$header" ] || cp -rL "/usr/include/$header" "$target/include/${header#x86_64-linux-gnu/}" || return 1
  done
  cp -P /usr/lib/x86_64-linux-gnu/{libfmt,libyaml-cpp,libcrypto}.so* "$library/" || return 1
  cp -r /usr/lib/x86_64-linux-gnu/cmake/{fmt,yaml-cpp} "$library/cmake/" || return 1
}

# Builds the runtime and the programs from these sources, with what this machine has; plans are made elsewhere.
build_here() {
  local prefix=${CERAR_GPU_PREFIX:-$here/prefix} found=()
  local library=$prefix/lib/x86_64-linux-gnu
  [ ! -d "$library" ] || found=(-Dfmt_DIR="$library/cmake/fmt" -Dyaml-cpp_DIR="$library/cmake/yaml-cpp"
    -DOPENSSL_INCLUDE_DIR="$prefix/include" -DOPENSSL_CRYPTO_LIBRARY="$library/libcrypto.so")
  [ -n "$cmake" ] && [ -n "$compiler" ] || { row build skipped "needs CMake and a C++20 compiler; use --prepare and --use"; return 1; }
  [ -n "${CERAR_GPU_PLANS:-}" ] || { row build skipped "CERAR_GPU_PLANS names no folder of plans; use --prepare and --use"; return 1; }
  build=$scratch/build directory=$scratch/prepared
  "$cmake" -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DCERAR_BUILD_TUNER=OFF -DCERAR_BUILD_BENCHMARKS=OFF \
    -DCERAR_BUILD_TESTS=OFF -DCERAR_BUILD_BENCH=OFF -DCERAR_BUILD_GPU_PROGRAMS=ON "${found[@]}" >>"$log" 2>&1 &&
    "$cmake" --build "$build" -j "$jobs" --target "${programs[@]}" >>"$log" 2>&1 || { row build FAILED "see the log"; return 1; }
  mkdir -p "$directory"
  cp -r "$build/bin" "$build/lib" "$directory/"
  cp -P "$library"/*.so* "$directory/lib/" 2>/dev/null
  cp -r "$CERAR_GPU_PLANS" "$directory/plans"
  row build ok "from source"
  use_prepared
}
