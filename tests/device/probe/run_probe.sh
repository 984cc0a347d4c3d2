#!/bin/bash
# run_probe.sh BIN OUT [SCENARIO...]: runs the probe's scenarios on a machine with a GPU, each under the
# forwarding CUPTI and the bare client, and leaves OUT/<scenario>.<pid>.{jsonl,raw}. BIN holds probe,
# client.so, libcupti.so.13 (the forwarder) and, if built, runtime_program. The real CUPTI is
# $REAL_CUPTI, or else the one of python3's nvidia wheels.
set -u
bin=$(realpath "$1"); out=$2; shift 2
here=$(dirname "$(realpath "$0")")
mkdir -p "$out"
if [ -z "${REAL_CUPTI:-}" ]; then
  REAL_CUPTI=$(python3 -c 'import glob,sys
print(next(iter(f for p in sys.path for f in glob.glob(p+"/nvidia/cu13/lib/libcupti.so.13")), ""))')
fi
export REAL_CUPTI FORWARD_BACKTRACE=1
HOTPROOF_CUPTI=$REAL_CUPTI bash "$here/../about.sh" "$bin" "run_probe.sh BIN OUT $*"
traced() {  # NAME CMD...
  local name=$1; shift
  FORWARD_OUT=$out/$name LD_PRELOAD=$bin/libcupti.so.13 CUDA_INJECTION64_PATH=$bin/client.so \
    timeout -k 5 40 "$@" 2>&1 | sed "s/^/  /"
  local code=${PIPESTATUS[0]}
  echo "$name: exit $code"
  return "$code"
}
traced initonly "$bin/probe" initonly || exit 1
scenarios=("$@")
[ ${#scenarios[@]} -eq 0 ] && mapfile -t scenarios < <("$bin/probe")
for s in "${scenarios[@]}"; do traced "$s" "$bin/probe" "$s"; done
CLIENT_SECOND=1 traced second "$bin/probe" initonly
CLIENT_ASK=1 traced ask "$bin/probe" eager
CLIENT_ASK=1 traced ask_modules "$bin/probe" modules
CLIENT_FLUSH_MS=20 CLIENT_BUFFER=16384 traced flush "$bin/probe" graphs
[ -x "$bin/runtime_program" ] && CLIENT_RUNTIME=1 traced runtime "$bin/runtime_program"
[ -x "$bin/runtime_program" ] && CLIENT_ASK=1 traced ask_runtime "$bin/runtime_program"
if [ "${WITH_TORCH:-1}" = 1 ]; then
  CLIENT_RUNTIME=1 traced torch python3 "$here/torch_program.py"
fi
