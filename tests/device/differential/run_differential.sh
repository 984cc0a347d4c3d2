#!/bin/bash
# run_differential.sh BIN OUT [CMD...]: runs programs under libhotproof.so with the forwarding CUPTI below
# it and leaves OUT/<name>/{traces,logs} for differential.py. BIN holds probe, self_count, runtime_program,
# libcupti.so.13 (the forwarder) and libhotproof.so. The real CUPTI is $REAL_CUPTI, or else the one of
# python3's nvidia wheels. With CMD, that alone is run, named "command". Exit code 1 if a program failed.
set -u
failed=0
bin=$(realpath "$1"); out=$2; shift 2
here=$(dirname "$(realpath "$0")")
if [ -z "${REAL_CUPTI:-}" ]; then
  REAL_CUPTI=$(python3 -c 'import glob,sys
print(next(iter(f for p in sys.path for f in glob.glob(p+"/nvidia/cu13/lib/libcupti.so.13")), ""))')
fi
export REAL_CUPTI
HOTPROOF_CUPTI=$REAL_CUPTI bash "$here/../about.sh" "$bin" "run_differential.sh BIN OUT $*"
traced() {  # NAME CMD...
  local name=$1; shift
  mkdir -p "$out/$name/traces" "$out/$name/logs"
  FORWARD_OUT=$out/$name/logs/log HOTPROOF_OUT=$out/$name/traces HOTPROOF_CUPTI=$bin/libcupti.so.13 \
    HOTPROOF_RECORD=operations \
    LD_PRELOAD=${FORWARDER_PRELOAD-}${FORWARDER_PRELOAD:+:}$bin/libhotproof.so timeout -k 5 60 "$@" 2>&1 | sed "s/^/  /"
  local code=${PIPESTATUS[0]}
  echo "$name: exit $code"
  [ "$code" -eq 0 ] || failed=1
}
if [ $# -gt 0 ]; then traced command "$@"; exit $failed; fi
for scenario in eager capture byhand child update memory forkjoin graphs graphthreads streams4 threads4 \
    pdl modules contexts capture2 conditional operations; do
  traced "$scenario" "$bin/probe" "$scenario"
done
traced fork "$bin/self_count" fork 2000
traced many "$bin/self_count" graphs 50000
[ -x "$bin/runtime_program" ] && traced runtime "$bin/runtime_program"
if [ "${WITH_TORCH:-1}" = 1 ]; then
  # By soname: torch's own CUPTI calls meet the forwarder too.
  FORWARDER_PRELOAD=$bin/libcupti.so.13 traced torch python3 "$here/../probe/torch_program.py"
fi
exit $failed
