#!/bin/bash
# evidence.sh BIN OUT: on an H100 or H200, everything that docs/FP8_GEMM.md rests on, about 3 minutes.
# BIN holds fp8_gemm_bench, fp8_gemm_bench_counted and libhotproof_fp8_gemm.so. OUT gets check.txt, counted.txt, forward_m8.json, all_m.json, sanitizer_*.txt and,
# where python3 has torch, baselines.json. Exit code 1 if a check fails or a part could not be run.
set -u -o pipefail
[ $# -eq 2 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 2; }
bin=$(realpath "$1") scripts=$(dirname "$(realpath "$0")") failed=0
mkdir -p "$2" && cd "$2" || exit 2
part() {  # NAME LIMIT_S COMMAND...: its output goes to NAME.txt
  local name=$1 limit_s=$2 begin=$SECONDS status=0
  shift 2
  timeout "$limit_s" "$@" >"$name.txt" 2>&1 || { status=$?; failed=1; }
  echo "$name: exit code $status, $((SECONDS - begin)) s"
}
part check 150 "$bin/fp8_gemm_bench" --parts check --determinism 10000
part counted 60 "$bin/fp8_gemm_bench_counted" --parts check --quick --determinism 100
part forward 90 "$bin/fp8_gemm_bench" --parts forward,sandwich --replays 200 --json "$PWD/forward_m8.json"
part shapes 120 "$bin/fp8_gemm_bench" --parts shapes --replays 200 --json "$PWD/all_m.json"
for tool in memcheck initcheck synccheck racecheck; do
  part "sanitizer_$tool" 60 compute-sanitizer --tool "$tool" "$bin/fp8_gemm_bench" --parts tiny
done
if python3 -c 'import torch' 2>/dev/null; then
  part baselines 150 python3 "$scripts/compare_baselines.py" --library "$bin/libhotproof_fp8_gemm.so" \
    --m 8,16,32,64,128,1,2,4 --without vllm --json "$PWD/baselines.json"
fi
exit $failed
