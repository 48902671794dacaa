# Sourced by run: what this machine has, and the log and table that everything goes to.
# shellcheck shell=bash disable=SC2154

say() { echo "$*" >>"$log"; }

# row STEP RESULT FIGURE
row() {
  printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$out/rows"
  say "== $1: $2 $3"
}

# One line per step; fails when a step did, when nothing was run at all, or when the table cannot be written.
print_table() {
  {
    printf '%-50s %-7s %s\n' step result figure
    while IFS=$'\t' read -r step result figure; do printf '%-50s %-7s %s\n' "$step" "$result" "$figure"; done <"$out/rows"
    echo "log: $log"
  } | tee -a "$log" || return 1
  grep -q $'\tok\t' "$out/rows" && ! grep -q $'\tFAILED\t' "$out/rows"
}

# run_step NAME SECONDS COMMAND...: logs the output; the row's figure is what the program says last.
run_step() {
  local name=$1 limit=$2 text status begun=$SECONDS
  shift 2
  # The whole script has a limit, so that a step that hangs does not take the table with it.
  [ "$limit" -le $((most_seconds - SECONDS)) ] || limit=$((most_seconds - SECONDS))
  if [ "$limit" -lt 3 ]; then
    row "$name" FAILED "no time is left"
    return
  fi
  say "-- $name: $*"
  timeout -k 5 "$limit" "$@" >"$scratch/step.txt" 2>&1
  status=$?
  cat "$scratch/step.txt" >>"$log"
  text=$(grep -aE '^(FIGURE|SKIP) ' "$scratch/step.txt" | tail -n 1 | cut -d' ' -f2-)
  case $status in
    0) row "$name" ok "$text, $((SECONDS - begun)) s" ;;
    77) row "$name" skipped "$text" ;;
    124 | 137) row "$name" FAILED "not done after $limit s" ;;
    *) row "$name" FAILED "$(failures_in "$scratch/step.txt" "$status")" ;;
  esac
}

failures_in() {
  local count first
  count=$(grep -ac '^FAIL ' "$1")
  first=$(grep -am1 '^FAIL ' "$1" | cut -c6- | sed "s|$directory/plans/||" | cut -c-160)
  echo "exit status $2, $count failures${first:+, first: $first}"
}

# NCCL in the system or in a Python wheel; its folder.
find_nccl() {
  local folder
  for folder in ${CERAR_GPU_NCCL:-} $(timeout 30 find / /usr /opt /root /home -xdev -name 'libnccl.so.2' -not -path '*/software_gpu/*' -printf '%h\n' 2>/dev/null); do
    [ -e "$folder/libnccl.so.2" ] && echo "$folder" && return
  done
}

tool() { command -v "$1" || find /usr/local/cuda*/bin /opt/cuda*/bin /usr/local/nvidia/bin -maxdepth 1 -name "$1" 2>/dev/null | head -n 1; }

# Finds tools; says in the table what is missing.
find_machine() {
  local missing=() name
  say "-- machine: $(uname -srm), $(getconf GNU_LIBC_VERSION), $jobs processors, $(date -u +%F)"
  smi=$(tool nvidia-smi)
  [ -n "$smi" ] && "$smi" --query-gpu=name,driver_version,compute_cap,memory.total --format=csv >>"$log" 2>&1
  nvcc=$(tool nvcc)
  cmake=$(tool cmake)
  compiler=$(tool c++)
  sanitizer=$(tool compute-sanitizer)
  nccl=
  # A stand-in that is first on the path must stay so.
  ldconfig -p 2>/dev/null | grep -q 'libnccl.so.2' || [[ ":${LD_LIBRARY_PATH:-}:" == *software_gpu* ]] || nccl=$(find_nccl)
  for name in smi nvcc cmake compiler sanitizer; do
    say "$name: ${!name:-missing}"
    [ -n "${!name}" ] || missing+=("$name")
  done
  say "NCCL: ${nccl:-where the system looks}"
  [ ${#missing[@]} -eq 0 ] || row tools - "not found: ${missing[*]}"
}

# Programs of DIR run with its libraries; where the C library here is older than theirs, with its own as well.
use_prepared() {
  directory=$(cd "$directory" 2>/dev/null && pwd) || { row prepared FAILED "no such directory"; return; }
  libraries=${LD_LIBRARY_PATH:-}
  libraries=${libraries:+$libraries:}$directory/lib${nccl:+:$nccl}
  [ ! -d /usr/local/nvidia/lib64 ] || libraries=$libraries:/usr/local/nvidia/lib64 # the driver's, in some containers
  loader=()
  if [[ $(LD_LIBRARY_PATH=$libraries "$directory/bin/gpu-facts" 2>&1) != *=* ]] || [ -n "${CERAR_GPU_LOADER:-}" ]; then
    loader=("$directory/libc/ld-linux-x86-64.so.2" --library-path "$directory/libc:$libraries")
    say "the programs start with the C library of $directory/libc"
  fi
  mapfile -t plans < <(cd "$directory/plans" && printf '%s\n' *)
}

# program NAME: the words that start it.
program() { words=(env "LD_LIBRARY_PATH=$libraries" "${loader[@]}" "$directory/bin/$1"); }

look_at_device() {
  local words facts thin
  program gpu-facts
  facts=$("${words[@]}" 2>&1)
  fact() { sed -n "s/^$1=//p" <<<"$facts"; }
  thin=$directory/nccl/$(fact architecture).gz
  if [ -z "$(fact nccl)" ] && [ -e "$thin" ]; then
    mkdir -p "$scratch/nccl"
    gzip -dc "$thin" >"$scratch/nccl/libnccl.so.2"
    libraries=$libraries:$scratch/nccl
    say "NCCL: of $thin"
    program gpu-facts
    facts=$("${words[@]}" 2>&1)
  fi
  say "$facts"
  if [ -z "$(fact name)" ]; then
    row device skipped "$(fact no_device)"
    return 1
  fi
  stand_in=$(fact stand_in)
  has_nccl=$(fact nccl)
  devices=$(fact devices)
  row device ok "$(fact name), $(fact architecture), driver for CUDA $(fact driver_cuda), NCCL ${has_nccl:-missing}"
}
