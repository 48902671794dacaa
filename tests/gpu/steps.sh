# Sourced by run: the steps, each a row or more of the table.
# shellcheck shell=bash disable=SC2154

# plans_like PATTERN...: their directories; patterns are those of the names that prepare.sh gives.
plans_like() {
  local pattern plan
  for pattern in "$@"; do
    for plan in "${plans[@]}"; do
      # shellcheck disable=SC2053
      [[ $plan == $pattern ]] && echo "$directory/plans/$plan"
    done
  done
}

# in_parallel COUNT COMMAND -- ITEM...: shares the items out to COUNT runs of the command at a time.
in_parallel() {
  local count=$1 command=()
  shift
  while [ "$1" != -- ]; do command+=("$1") && shift; done
  shift
  [ $# -gt 0 ] || { echo "FAIL no plans"; return 1; }
  local share=$((($# + count - 1) / count))
  printf '%s\0' "$@" | xargs -0 -P "$count" -n "$share" "${command[@]}"
}

# Sums up the figures of parallel runs.
summed() {
  "$@" | tee "$scratch/parallel.txt"
  local status=${PIPESTATUS[0]}
  awk '/^FIGURE/ { variants += $2; runs += $4; launches += $6; different += $8; words += $10 }
       END { printf "FIGURE %d variants, %d runs, %d launches: %d of %.0f words differ from the host build\n",
             variants, runs, launches, different, words }' "$scratch/parallel.txt"
  [ "$status" -eq 0 ] || return 1
}

step_kernels() {
  local words directories
  program gpu-check-kernels
  mapfile -t directories < <(plans_like '*')
  export -f summed in_parallel
  export scratch
  run_step "kernels" 150 bash -c 'summed in_parallel "$@"' - "$((jobs < 8 ? jobs : 8))" "${words[@]}" -- "${directories[@]}"
}

step_ranks() {
  local words directories workers
  program gpu-virtual-ranks
  for workers in 4 8; do
    mapfile -t directories < <(plans_like "n$workers-*")
    [ ${#directories[@]} -gt 0 ] || continue
    if [ "$stand_in" = 1 ]; then
      run_step "virtual ranks, N = $workers" 120 "${words[@]}" --small --repeats 3 "${directories[@]}"
      continue
    fi
    mapfile -t directories < <(plans_like "n$workers-ring-*" "n$workers-optimized-*-f32" "n$workers-differential-c$((4 * workers))-*" "n$workers-differential-c$((16 * workers))-fx16")
    run_step "virtual ranks, N = $workers" 90 "${words[@]}" "${directories[@]}"
    mapfile -t directories < <(plans_like "n$workers-ring-c$workers-f32" "n$workers-differential-c$((4 * workers))-fx16")
    run_step "large, repeated, N = $workers" 60 "${words[@]}" --small --large --repeats 50 "${directories[@]}"
  done
}

# nccl_job PLAN [--leave]: a process per rank, each as if on a host of its own, connected over sockets.
nccl_job() {
  local plan=$1 ranks rank status=0 id pids=()
  shift
  ranks=$(sed -n 's/^workers: //p' "$plan/plan.yaml")
  id=$(mktemp -u "$scratch/nccl-id-XXXXXX")
  for ((rank = 0; rank < ranks; ++rank)); do
    NCCL_HOSTID="rank-$rank" NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo NCCL_SHM_DISABLE=1 NCCL_P2P_DISABLE=1 \
      NCCL_DEBUG="${NCCL_DEBUG:-WARN}" "${words[@]}" --rank "$rank" --id-file "$id" "$@" "$plan" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
  echo "FIGURE $ranks processes"
  return $status
}

step_nccl() {
  local words plan name option
  program gpu-nccl-ranks
  if [ -z "$has_nccl" ]; then
    row nccl skipped "libnccl.so.2 not found; set CERAR_GPU_NCCL to its folder"
    return
  fi
  for plan in $(plans_like 'n2-ring-c2-f32' 'n4-differential-c16-fx16' 'n4-optimized-c6-f32'); do
    for option in '' --leave; do
      [ -z "$option" ] || [[ $plan != *-c6-* ]] || continue
      name="nccl ${plan##*/}${option:+, a rank leaves}"
      if [ "$stand_in" = 1 ]; then # whose ranks cannot meet in several processes
        run_step "$name" 60 "${words[@]}" ${option:+"$option"} "$plan"
      else
        nccl_words=$(printf '%q ' "${words[@]}")
        export -f nccl_job
        export scratch nccl_words
        run_step "$name" 60 bash -c 'eval "words=($nccl_words)"; nccl_job "$@"' - "$plan" ${option:+"$option"}
      fi
    done
  done
}

step_bandwidth() {
  local words directories
  program gpu-bandwidth
  mapfile -t directories < <(plans_like 'n8-ring-c8-*' 'n8-optimized-*-f32' 'n8-differential-c32-*' 'n8-differential-c128-f32')
  if [ "$stand_in" = 1 ]; then
    mapfile -t directories < <(plans_like '*')
    words+=(--mebibytes 1)
  fi
  run_step bandwidth 90 "${words[@]}" "${directories[@]}"
  # The whole table belongs to the result, not only its ends.
  [ "$stand_in" = 1 ] || grep -a 'GB/s  ratio' "$scratch/step.txt" | tee "$out/bandwidth.txt"
}

step_sanitizer() {
  local words directories check
  if [ -z "$sanitizer" ] || [ "$stand_in" = 1 ]; then
    row sanitizer skipped "compute-sanitizer is not installed, or there is no real device"
    return
  fi
  program gpu-virtual-ranks
  mapfile -t directories < <(plans_like 'n4-ring-c4-f32' 'n4-differential-c16-fx16')
  # Kernels share no memory within a block, but shuffle within warps.
  export -f sanitized
  export scratch
  for check in memcheck synccheck; do
    run_step "$check" 60 bash -c 'sanitized "$@"' - "$sanitizer" --tool "$check" --target-processes all --error-exitcode 9 "${words[@]}" --small "${directories[@]}"
  done
}

# sanitized COMMAND: 77 where compute-sanitizer cannot watch this device; success only if it says so itself.
sanitized() {
  local status said=$scratch/sanitizer.txt
  "$@" 2>&1 | tee "$said"
  status=${PIPESTATUS[0]}
  if grep -aqi 'device not supported\|not supported on this' "$said"; then
    echo "SKIP compute-sanitizer does not support this device"
    return 77
  fi
  grep -aq 'ERROR SUMMARY: 0 errors' "$said" || { echo "FAIL no summary of compute-sanitizer's"; return 1; }
  return "$status"
}
