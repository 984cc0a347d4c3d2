#!/bin/bash
# On a machine with a GPU and torch, from anywhere: run_ranges.sh HOTPROOF OUT
# Traces ranges_program.py with NVTX ranges and with the torch hook and compares where each GEMM was found. OUT must
# not exist. Exit code 0: every GEMM is in its ranges, and the hook changed nothing.
set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
hotproof=$1 out=$2
mkdir "$out" || exit 2
bash "$here/../about.sh" "$(dirname "$hotproof")" run_ranges.sh HOTPROOF OUT
wrong=0
for which in nvtx modules; do
  options=(); [ "$which" = modules ] && options=(--torch-ops)
  "$hotproof" run "${options[@]}" -o "$out/$which" -- python3 "$here/ranges_program.py" "$which" \
    >"$out/$which.log" 2>"$out/$which.err" || { tail -n 20 "$out/$which.err"; wrong=1; }
  "$hotproof" report "$out/$which" --phase all --format json >"$out/$which.json"
  "$hotproof" report "$out/$which" --phase all --by range >"$out/$which.txt"
  python3 "$here/compare_ranges.py" "$which" "$out/$which.log" "$out/$which.json" || wrong=1
done
"$hotproof" assert "$out/modules" --phase all --range '^Model/layers[.]0/' --kind gemm --min-launches 5 || wrong=1
"$hotproof" assert "$out/nvtx" --phase all --range 'captured layer' --kind gemm --launches 6 || wrong=1
exit $wrong
