#!/bin/bash
# prove_all.sh BIN OUT [--minutes N] [--vllm-setup FILE --vllm-model DIR] [--only STEP,...] [--list] [--quick]
# Everything that only a GPU can show, in one run, most important first; each step has a time limit of its own.
#   BIN           hotproof, libhotproof.so, self_count, probe, live_program, libcupti.so.13 (the forwarder),
#                 bare_probe.so, libhotproof_fp8_gemm.so, commit (about.sh); runtime_program and device_launch where nvcc built them
#   OUT           at most eight files: summary.txt (a line a step), the steps' results, logs.tar.xz
#   --minutes N   stop starting steps when N minutes are over (default 20)
#   --vllm-setup  a shell file that is sourced before python3 runs vLLM; --vllm-model: a folder with its
#                 config.json. Without both the vLLM steps are left out.
#   --serve-options  more options for examples/vllm/serve.py, as one word
#   --quick       few launches: for a machine without a GPU, under tests/fake_cuda
# CUPTI is $HOTPROOF_CUPTI, or the one of python3's nvidia wheels. Exit code 1 if a step failed or none ran.
set -u -o pipefail
usage() { sed -n '2,14s/^# \{0,1\}//p' "$0"; }
[ $# -ge 1 ] && [ "$1" = --list ] && list=1 || list=
if [ -z "$list" ] && [ $# -lt 2 ]; then usage; exit 2; fi
root=$(cd "$(dirname "$(realpath "$0")")/../.." && pwd)
device=$root/tests/device
minutes=20 setup='' model='' only='' serve_options='' replay=12000000 launches=100000
if [ -z "$list" ]; then
  bin=$(realpath "$1") out=$2
  shift 2
  while [ $# -gt 0 ]; do
    case $1 in
      --minutes) minutes=$2; shift ;;
      --vllm-setup) setup=$(realpath "$2"); shift ;;
      --vllm-model) model=$(realpath "$2"); shift ;;
      --only) only=,$2,; shift ;;
      --serve-options) serve_options=$2; shift ;;
      --quick) replay=20000 launches=2000 ;;
      *) usage; exit 2 ;;
    esac
    shift
  done
  mkdir -p "$out" || exit 2
  out=$(realpath "$out")
  work=$(mktemp -d "${TMPDIR:-/tmp}/prove_all.XXXXXX") || exit 2
  : >"$out/summary.txt"
fi
if [ -z "${HOTPROOF_CUPTI:-}" ]; then
  HOTPROOF_CUPTI=$(python3 -c 'import glob,sys
print(next(iter(f for p in sys.path for f in glob.glob(p+"/nvidia/cu13/lib/libcupti.so.13")), ""))')
fi
[ -n "$HOTPROOF_CUPTI" ] && export HOTPROOF_CUPTI REAL_CUPTI=${REAL_CUPTI:-$HOTPROOF_CUPTI}

[ -z "$list" ] && bash "$device/about.sh" "$bin" "prove_all.sh BIN OUT (${only:-every step}) $serve_options" | tee -a "$out/summary.txt"

say() { if [ -n "$list" ]; then echo "$*"; else echo "$*" | tee -a "$out/summary.txt"; fi; }

# step NAME LIMIT_S WHAT: runs the function do_NAME. Its last line of output stands in the summary.
failed=0 ran=0
step() {
  local name=$1 limit_s=$2 what=$3 status=0 begin=$SECONDS
  if [ -n "$list" ]; then printf '%-16s %4d s  %s\n' "$name" "$limit_s" "$what"; return; fi
  [ -n "$only" ] && [[ $only != *,$name,* ]] && return
  if [ $((SECONDS / 60)) -ge "$minutes" ]; then say "$(printf '%-16s NOT RUN  the %s minutes are over' "$name" "$minutes")"; return; fi
  if ! "need_$name" 2>/dev/null; then say "$(printf '%-16s SKIPPED  it lacks what it needs' "$name")"; return; fi
  ran=$((ran + 1))
  ( do_"$name" ) >"$work/$name.log" 2>&1 &
  local pid=$!
  # A watchdog of its own: the steps are functions, which `timeout` cannot run.
  ( sleep "$limit_s"; kill -TERM -- "-$pid" 2>/dev/null || kill -TERM "$pid" 2>/dev/null; sleep 5
    kill -KILL -- "-$pid" 2>/dev/null || kill -KILL "$pid" 2>/dev/null ) >/dev/null 2>&1 &
  local watchdog=$!
  disown "$watchdog"
  wait "$pid"; status=$?
  kill -- "-$watchdog" 2>/dev/null || kill "$watchdog" 2>/dev/null
  local result=ok
  if [ "$status" -ne 0 ]; then
    result=FAILED
    [ $((SECONDS - begin)) -ge "$limit_s" ] && result=TIMEOUT
    failed=$((failed + 1))
  fi
  say "$(printf '%-16s %-8s %4d s  %s' "$name" "$result" $((SECONDS - begin)) "$(tail -n 1 "$work/$name.log" | cut -c1-160)")"
}
set -m  # each step is a process group that can be ended whole

need_() { for file in "$@"; do [ -e "$bin/$file" ] || return 1; done; }

need_doctor() { need_ hotproof; }
do_doctor() { "$bin/hotproof" doctor --probe; }

need_self_count() { need_ hotproof libhotproof.so self_count; }
do_self_count() {
  SELF_COUNT_LAUNCHES=$launches bash "$device/self_count/run_self_count.sh" "$bin" "$work/self_count" "$replay" \
    | tee "$out/self_count.txt"
}

need_rare() { need_ hotproof libhotproof.so probe; }
do_rare() {
  { bash "$device/about.sh" "$bin" check_rare.py BIN OUT
    python3 "$device/probe/check_rare.py" "$bin" "$work/rare"; } | tee "$out/rare.txt"
}

need_live() { need_ hotproof libhotproof.so live_program; }
do_live() {
  "$bin/hotproof" run -o "$work/live" -- "$bin/live_program" 20 && "$bin/hotproof" report "$work/live" &&
    "$bin/hotproof" assert "$work/live" --kernel live_gemm_like --kind any --launches 5120
}

need_differential() { need_ libhotproof.so libcupti.so.13 probe self_count; }
do_differential() {
  local torch=0 ran_well=1
  python3 -c 'import torch' 2>/dev/null && torch=1
  WITH_TORCH=$torch bash "$device/differential/run_differential.sh" "$bin" "$work/differential" || ran_well=
  # Comparing needs xxhash and zstandard; without them the logs are compared elsewhere.
  if python3 -c 'import xxhash, zstandard' 2>/dev/null; then
    { bash "$device/about.sh" "$bin" "run_differential.sh BIN OUT; differential.py OUT/X/traces OUT/X/logs for each X"
    for run in "$work"/differential/*/; do
      basename "$run"
      python3 "$device/differential/differential.py" "$run/traces" "$run/logs" || echo "NOT EQUAL: $run"
    done
    echo "edges.py --all OUT TRANSCRIPTS (docs/measurements/transcripts)"
    python3 "$device/differential/edges.py" --all "$work/differential" \
      "$root/docs/measurements/transcripts/h200-cupti-13.0.tar.xz" || echo "NOT EQUAL: edges of graphs"; } 2>&1 | tee "$out/differential.txt"
    local runs
    runs=$(ls "$work/differential" | wc -l)
    echo "$runs runs compared, and edges of their graphs, $(grep -c '^NOT EQUAL' "$out/differential.txt") not equal"
    [ -n "$ran_well" ] && [ "$runs" -gt 0 ] && ! grep -q '^NOT EQUAL' "$out/differential.txt"
  else
    tar -cJf "$out/differential.tar.xz" -C "$work" differential
    echo "$(ls "$work/differential" | wc -l) runs, to be compared by differential.py and edges.py"
    [ -n "$ran_well" ]
  fi
}

need_overhead() { need_ libhotproof.so bare_probe.so && python3 -c 'import torch'; }
do_overhead() {
  python3 "$device/overhead/overhead.py" --library "$bin/libhotproof.so" --probe "$bin/bare_probe.so" --rounds 12 \
    | tee -a "$out/overhead.jsonl"
}

need_torch_example() { need_ hotproof libhotproof.so && python3 -c 'import torch'; }
do_torch_example() {
  rm -rf "$work/examples/torch-gemms-m8"
  mkdir -p "$work/examples"
  "$bin/hotproof" run -o "$work/examples/torch-gemms-m8" -- python3 "$root/examples/torch_gemms.py" &&
    "$bin/hotproof" report "$work/examples/torch-gemms-m8"
}

# record FOLDER [VARIABLE=VALUE...]: vLLM from start to shutdown; COMPLETE or it is no recording to ship.
record() {
  local folder=$work/examples/$1
  shift
  rm -rf "$folder"
  mkdir -p "$work/examples"
  . "$setup"
  env "$@" "$bin/hotproof" run -o "$folder" -- python3 "$root/examples/vllm/serve.py" --model "$model" \
    --batch 8 --tokens 24 --rounds 2 $serve_options --log "$folder.server.log" || return 1
  "$bin/hotproof" report "$folder" || return 1
  "$bin/hotproof" report "$folder" --format json --phase all | python3 -c '
import json, sys
processes = json.load(sys.stdin)["processes"]
states = [(p["completeness"]["state"], p.get("coverage")) for p in processes]
print(states)
sys.exit(any(state != "COMPLETE" for state, _ in states) or len(states) < 2)'
}
need_vllm_deepgemm() { [ -n "$setup" ] && [ -e "$model/config.json" ] && need_ hotproof libhotproof.so; }
do_vllm_deepgemm() {
  record vllm-0.25.1-deepgemm-m8 VLLM_BLOCKSCALE_FP8_GEMM_FLASHINFER=0 VLLM_DEEP_GEMM_WARMUP=skip
}
need_vllm_default() { need_vllm_deepgemm; }
do_vllm_default() { record vllm-0.25.1-default-m8; }

need_vllm_cutlass() { need_vllm_deepgemm; }
do_vllm_cutlass() {
  record vllm-0.25.1-cutlass-m8 VLLM_BLOCKSCALE_FP8_GEMM_FLASHINFER=0 VLLM_USE_DEEP_GEMM=0
}

need_shapes() { need_ hotproof libhotproof.so && python3 -c 'import torch'; }
do_shapes() {
  # Parentheses: what the setup exports is for this step alone.
  (
    [ -n "$setup" ] && . "$setup"
    [ -e "$bin/libhotproof_fp8_gemm.so" ] && export HOTPROOF_FP8_GEMM=$bin/libhotproof_fp8_gemm.so
    bash "$device/shapes/run_shapes.sh" "$bin/hotproof" "$work/shapes"
  ) | tee "$out/shapes.txt"
}

need_vllm_overhead() { need_vllm_deepgemm && need_ bare_probe.so; }
do_vllm_overhead() {
  . "$setup"
  python3 "$device/overhead/vllm_step.py" --model "$model" --library "$bin/libhotproof.so" \
    --probe "$bin/bare_probe.so" | tee -a "$out/overhead.jsonl"
}

step doctor 60 "what hotproof doctor --probe finds"
step self_count 240 "asked = counted on the device = expected = recorded, 12,000,000 of them replayed"
step rare 120 "several devices, late attributes, graphs in captures, device launches"
step vllm_deepgemm 520 "re-record the DeepGEMM example: COMPLETE"
step live 60 "the demo's live part"
step differential 240 "every record against the raw buffers, edges of graphs against what CUPTI said"
step vllm_default 300 "re-record the default example"
step vllm_cutlass 520 "record the CUTLASS example"
step shapes 330 "each library at random shapes: every shape as asked"
step overhead 180 "a decode step's graph: untraced, bare probe, count, full in turn"
step vllm_overhead 420 "a vLLM decode step: four engines in turn"
step torch_example 90 "re-record the torch example"
[ -n "$list" ] && exit 0
[ -d "$work/examples" ] && tar -cJf "$out/examples.tar.xz" -C "$work" examples
tar -cJf "$out/logs.tar.xz" --exclude='*/logs' --exclude=examples --exclude=differential -C "$(dirname "$work")" \
  "$(basename "$work")" 2>/dev/null
say "$((SECONDS / 60)) min $((SECONDS % 60)) s, $ran steps ran, $failed failed; files: $(ls "$out" | wc -l)"
rm -rf "$work"
[ "$ran" -gt 0 ] && [ "$failed" -eq 0 ]
