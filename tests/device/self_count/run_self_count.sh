#!/bin/bash
# run_self_count.sh BIN OUT [LAUNCHES OF replay]: each self_count scenario under `hotproof run`; prints a
# line for each process: what the driver was asked, what the kernels counted on the device, what the trace
# says was asked (expected) and recorded. Leaves reports and traces in OUT. BIN holds hotproof,
# libhotproof.so and self_count; the other scenarios launch $SELF_COUNT_LAUNCHES times (100000). CUPTI is
# $HOTPROOF_CUPTI, or the one of python3's nvidia wheels. Exit code 1 if any two of the four differ, or a
# process is not COMPLETE.
set -u
bin=$(realpath "$1"); out=$2; replay=${3:-10000000}
mkdir -p "$out"
if [ -z "${HOTPROOF_CUPTI:-}" ]; then
  HOTPROOF_CUPTI=$(python3 -c 'import glob,sys
print(next(iter(f for p in sys.path for f in glob.glob(p+"/nvidia/cu13/lib/libcupti.so.13")), ""))')
fi
[ -n "$HOTPROOF_CUPTI" ] && export HOTPROOF_CUPTI
bash "$(dirname "$(realpath "$0")")/../about.sh" "$bin" "run_self_count.sh BIN OUT $replay"
scenarios="plain pdl streams4 threads4 graphs fork replay"
for scenario in $scenarios; do
  launches=${SELF_COUNT_LAUNCHES:-100000}
  [ "$scenario" = replay ] && launches=$replay
  "$bin/hotproof" run -o "$out/$scenario" -- "$bin/self_count" "$scenario" "$launches" \
    > "$out/$scenario.counted" 2> "$out/$scenario.err"
  echo "exit $?" >> "$out/$scenario.err"
  "$bin/hotproof" report "$out/$scenario" --phase all --format json > "$out/$scenario.json" 2>> "$out/$scenario.err"
done
python3 - "$out" $scenarios <<'PYTHON'
import json, os, sys
out, scenarios, bad = sys.argv[1], sys.argv[2:], False
print(f"{'scenario':10} {'pid':>7} {'asked':>10} {'counted':>10} {'expected':>10} {'recorded':>10} "
      f"{'lost':>6} {'untimed':>7}  state  (bytes of trace)")
for name in scenarios:
    said_lines = open(f"{out}/{name}.counted").read().splitlines()
    if len(said_lines) != (2 if name == "fork" else 1):
        bad = True
        print(f"{name:10} {len(said_lines)} processes said what they asked  DIFFERS")
        continue
    try:
        report = {p["pid"]: p for p in json.load(open(f"{out}/{name}.json"))["processes"]}
    except ValueError:
        report = {}
    for line in said_lines:
        said = json.loads(line)
        p = report.get(said["pid"])
        c = p["completeness"] if p else {}
        numbers = [said["asked"], said["counted"], c.get("expected"), c.get("recorded")]
        size = os.path.getsize(f"{out}/{name}/{p['trace']}") if p else 0
        ok = len(set(numbers)) == 1 and c.get("state") == "COMPLETE"
        bad |= not ok
        print(f"{name:10} {said['pid']:7} {numbers[0]:10} {numbers[1]:10} {numbers[2]!s:>10} "
              f"{numbers[3]!s:>10} {c.get('lost')!s:>6} {c.get('untimed')!s:>7}  {c.get('state')}  ({size})"
              + ("" if ok else "  DIFFERS"))
sys.exit(bad)
PYTHON
