#!/bin/sh
# On a machine with a GPU and torch (vLLM and FlashInfer for their libraries), from anywhere:
#   run_shapes.sh HOTPROOF OUT [SEED]
# Traces shapes_program.py and compares every recorded shape with what was asked for. OUT must not exist.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
hotproof=$1 out=$2 seed=${3:-1}
mkdir "$out"
"$hotproof" run -o "$out/trace" -- python3 "$here/shapes_program.py" "$out/asked.json" "$seed"
"$hotproof" report "$out/trace" --phase all --format json >"$out/report.json"
python3 "$here/compare_shapes.py" "$out/asked.json" "$out/report.json"
