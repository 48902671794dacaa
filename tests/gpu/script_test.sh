#!/bin/bash
# script_test.sh BUILD: `run --prepare` and `run --use` for a few plans with the stand-ins, and whether the
# script notices a kernel file that is damaged.
set -euo pipefail
build=$1
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

CERAR_GPU_BUILT=1 "$here/run" --prepare "$work/prepared" --few --build "$build"
export LD_LIBRARY_PATH=$build/software_gpu SOFTWARE_GPU_DELAY_US=20 # not before: NVRTC would open the stand-in
OUT=$work/out "$here/run" --use "$work/prepared" || { cat "$work/out/gpu-run.log"; exit 1; }
for step in kernels 'virtual ranks, N = 4' 'nccl n2-ring-c2-f32' 'nccl n4-differential-c16-fx16, a rank leaves' bandwidth; do
  grep -q "^$step	ok	" "$work/out/rows" || { echo "$step did not run"; exit 1; }
done

cubin=$(printf '%s\n' "$work"/prepared/plans/n4-differential-*/kernels/*.sm_80.cubin)
printf x >>"$cubin"
if OUT=$work/damaged "$here/run" --use "$work/prepared" --only kernels >"$work/table" || ! grep -q '^kernels  *FAILED' "$work/table"; then
  cat "$work/table"
  echo "a damaged cubin was not noticed"
  exit 1
fi
