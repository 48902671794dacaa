#!/bin/sh
# Installs the runtime, builds the C example against the installed tree with a project of its own, and runs it with a
# fresh plan: run.sh BUILD_DIR SOURCE_DIR CERAR_TUNE WORK_DIR
set -eu
build=$1 source=$2 tune=$3 work=$4
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
cmake -G Ninja -S "$source/tests/package/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DEXAMPLE="$source/runtime/examples/all_reduce.c" -DEXAMPLE_MPI="$source/runtime/examples/all_reduce_mpi.c" >"$work/configure.log"
cmake --build "$work/consumer" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
"$tune" --topology local --workers 4 --components 32 --out "$work/plan" >"$work/tune.log"
"$work/consumer/consumer" "$work/plan" 100000 | tee "$work/output"
[ "$(grep -c 'c = 32' "$work/output")" -eq 4 ]
# Where MPI was found, the same between processes: one runs alone, without mpirun; any plan will do for it.
if grep -q '^CERAR_WITH_MPI:BOOL=ON' "$build/CMakeCache.txt"; then
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$work/consumer/consumer_mpi" "$work/plan" 1000 >"$work/output_mpi"
  grep -q 'rank 0: error 0.00e+00' "$work/output_mpi"
fi
# A C program gets one sentence for a plan that is not there.
! "$work/consumer/consumer" "$work/missing" 2>"$work/error"
grep -q 'does not exist' "$work/error"
