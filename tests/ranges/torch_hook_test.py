#!/usr/bin/env python3
"""`hotproof run --torch-ops` on a stand-in torch over the stand-in driver, and what report and assert say.

Usage: torch_hook_test.py HOTPROOF DRIVER_FOLDER CUPTI NVTX_MODULE
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

hotproof, driver, cupti, nvtx_module = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
environment = {name: value for name, value in os.environ.items() if not name.startswith("HOTPROOF_")}
environment.update(LD_LIBRARY_PATH=driver, HOTPROOF_CUPTI=cupti, RANGES_MODULE=nvtx_module,
                   PYTHONPATH=f"{here}/chained:{here}/fake_torch", PYTHONDONTWRITEBYTECODE="1")


def call(*words, expect=0, **variables):
    done = subprocess.run([hotproof, *words], capture_output=True, text=True, env={**environment, **variables})
    if done.returncode != expect:
        sys.exit(f"{words}: exit code {done.returncode}, not {expect}\n{done.stdout}{done.stderr}")
    return done.stdout


def ranges_of(folder):
    report = json.loads(call("report", folder, "--phase", "all", "--format", "json"))
    found = collections.Counter()
    for row in report["ranges"]:
        found[row["range"]] += row["launches"]
    return report, dict(found)


def same(what, got, expected):
    if got != expected:
        sys.exit(f"{what}:\n got {got}\nnot {expected}")


MODEL, LAYERS = "Model", "Model/layers"
# Called twice, once captured and replayed twice: 1 eager + 2 replayed in their modules. A traced model: 1
# more without modules.
EXPECTED = {
    "aten::mm": 5, "Linear/aten::mm": 4, f"{LAYERS}/gate/aten::mm": 3, f"{LAYERS}/up/aten::mm": 3,
    f"{MODEL}/head/aten::mm": 3, "Failing/aten::mm": 2, "Linear": 1,
}
with tempfile.TemporaryDirectory(prefix="hotproof-ranges-") as temporary:
    program = [sys.executable, f"{here}/torch_program.py"]
    folder = f"{temporary}/all"
    call("run", "--torch-ops", "-o", folder, "--", *program)
    report, found = ranges_of(folder)
    same("ranges", found, EXPECTED)
    launches = sum(row["launches"] for row in report["kernels"])
    same("launches", sum(found.values()), launches)
    if report["problems"] and any(p["name"] == "sums_disagree" for p in report["problems"]):
        sys.exit(report["problems"])

    text = call("report", folder, "--phase", "all", "--by", "range")
    if "By range" not in text or f"{LAYERS}/gate/aten::mm" not in text:
        sys.exit(text)
    if "By range" in call("report", folder, "--phase", "all"):
        sys.exit("the table was not asked for")
    select = ["assert", folder, "--phase", "all", "--processes", "sum"]
    call(*select, "--range", "^Model/.*mm$", "--launches", "9")
    call(*select, "--range", "layers/gate", "--max-launches", "2", expect=1)
    call(*select, "--range", "no such range", "--max-launches", "0")
    call(*select, "--range", "(", "--max-launches", "0", expect=2)
    call(*select, "--range", "^Model/", "--kind", "gemm", "--share", ">=0.4")

    folder = f"{temporary}/modules"
    call("run", "--torch-ops", "-o", folder, "--", *program, HOTPROOF_TORCH_OPS="modules")
    same("modules", ranges_of(folder)[1], {
        "": 5, "Linear": 5, f"{LAYERS}/gate": 3, f"{LAYERS}/up": 3, f"{MODEL}/head": 3, "Failing": 2})

    # Without the option nothing is named, and that is no 'never'.
    folder = f"{temporary}/none"
    call("run", "-o", folder, "--", *program)
    same("without", ranges_of(folder)[1], {})
    call("assert", folder, "--phase", "all", "--range", "Model", "--max-launches", "0", expect=3)
    if "no_range" not in call("report", folder, "--phase", "all", "--by", "range"):
        sys.exit("--by range does not say that there is none")
print("ok")
