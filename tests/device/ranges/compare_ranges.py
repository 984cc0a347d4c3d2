"""compare_ranges.py nvtx|modules PROGRAM_OUTPUT REPORT_JSON: whether each GEMM was found in its ranges.
Exit code 0: all are. Rows are (N, K, range) -> launches; GEMMs by kind, of the whole run."""
import collections
import json
import re
import sys

which, program, report = sys.argv[1], json.loads(open(sys.argv[2]).read().splitlines()[-1]), json.load(open(sys.argv[3]))
rows = collections.defaultdict(dict)
for row in report["ranges"]:
    if row["kind"] == "gemm" and row["launches"]:
        key = (row.get("n"), row.get("k"))
        rows[key][row["range"]] = rows[key].get(row["range"], 0) + row["launches"]
wrong = []


def expect(n, k, **ranges_by_name):
    """Each value: (pattern of the whole range, launches)."""
    got = rows.get((n, k), {})
    for pattern, launches in ranges_by_name.values():
        found = sum(count for text, count in got.items() if re.fullmatch(pattern, text))
        if found != launches:
            wrong.append(f"N={n} K={k}: {launches} in /{pattern}/ expected, {found} found; all: {got}")
    expected = sum(launches for _, launches in ranges_by_name.values())
    if sum(got.values()) != expected:
        wrong.append(f"N={n} K={k}: {expected} launches expected, got {got}")


if which == "nvtx":
    K = 1024
    expect(256, K, warm=("", 1), eager=("eager/layer 0", 1))
    expect(320, K, warm=("", 1), both=(r"\[request\]/eager/layer 1", 1), after=("eager/layer 1", 1))
    expect(384, K, warm=("", 1), captured=("captured layer 0", 3))
    expect(448, K, warm=("", 1), captured=("captured layer 1", 3))
    expect(512, K, warm_and_captured=("", 1 + 3))
else:
    K, op = 1024, "aten::linear(/aten::.*)*"
    # Once eagerly, twice replayed.
    expect(2048, K, module=(f"Model/layers.0/gate_up/{op}", 3))
    expect(2304, K, module=(f"Model/layers.1/gate_up/{op}", 3))
    # Compiled: 1 and 2 replayed without modules inside; eagerly once.
    # What a compiled region is called from may differ between versions; that it names no module may not.
    compiled = r"(?!.*layers).*"
    # The outermost module is then torch.compile's own.
    expect(2560, K, compiled=(compiled, 3), eager=(rf"[\w.]+/layers.0/gate_up/{op}", 1))
    expect(2816, K, compiled=(compiled, 3), eager=(rf"[\w.]+/layers.1/gate_up/{op}", 1))
    expect(3072, K, profiled=("Model/layers.0/gate_up", 1))  # torch.profiler was on: no operators
    expect(3328, K, after=(f"Model/layers.0/gate_up/{op}", 1))
    for name, value in (("same", True), ("profiler saw aten::mm", True), ("graph breaks", 0)):
        if program.get(name) != value:
            wrong.append(f"{name}: {program.get(name)}")
for line in wrong:
    print(line)
print(f"{which}: {len(rows)} shapes, {'all in their ranges' if not wrong else str(len(wrong)) + ' wrong'}")
sys.exit(bool(wrong))
