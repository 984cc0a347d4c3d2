#!/bin/bash
# On a machine with a GPU and torch (vLLM and FlashInfer for their libraries), from anywhere:
#   run_shapes.sh HOTPROOF OUT [SEED [LIBRARY...]]
# Traces shapes_program.py, a process for each library, side by side, and compares every recorded shape with what
# was asked for. OUT must not exist. Exit code 0: every library that is there is right, and at least one is.
set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
hotproof=$1 out=$2 seed=${3:-1}
libraries=("${@:4}")
[ "${#libraries[@]}" -gt 0 ] || read -ra libraries < <(python3 "$here/shapes_program.py" --list)
mkdir "$out" || exit 2
bash "$here/../about.sh" "$(dirname "$hotproof")" run_shapes.sh HOTPROOF OUT "$seed" "${libraries[@]}"

trace_library() {
  local folder=$out/$1
  mkdir "$folder"
  "$hotproof" run -o "$folder/trace" -- python3 "$here/shapes_program.py" "$folder/asked.json" "$seed" "$1" \
    >"$folder/log" 2>&1 || return $?
  "$hotproof" report "$folder/trace" --phase all --format json >"$folder/report.json" 2>>"$folder/log" || return 4
  python3 "$here/compare_shapes.py" "$folder/asked.json" "$folder/report.json" >"$folder/verdict"
}

declare -A pids
for library in "${libraries[@]}"; do
  trace_library "$library" & pids[$library]=$!
done
right=0 wrong=0
for library in "${!pids[@]}"; do
  wait "${pids[$library]}"
  case $? in
    0) right=$((right + 1)); echo "$library:"; cat "$out/$library/verdict" ;;
    3) echo "$library: absent: $(grep "^$library:" "$out/$library/log" | tail -n 1)" ;;
    *) wrong=$((wrong + 1)); echo "$library:"; cat "$out/$library/verdict" 2>/dev/null || tail -n 5 "$out/$library/log" ;;
  esac
done
echo "$right libraries right, $wrong not"
[ "$wrong" -eq 0 ] && [ "$right" -gt 0 ]
