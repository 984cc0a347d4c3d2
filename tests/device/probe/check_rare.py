"""check_rare.py BIN OUT: what is rare in serving, under `hotproof run` on this machine, against what each program says.

Each case is a program, the numbers that must agree and the reasons that the report must name. Prints one line a
case; exit code 1 if one is not as it should be. BIN holds hotproof, libhotproof.so, probe and device_launch
(which may be missing: nvcc builds it). Traces and reports stay in OUT.
"""
import json
import os
import subprocess
import sys

# name, command, launches asked (None: as counted on the device), what the report must name
CASES = [
    ("devices", ["probe", "devices"], None, []),
    ("attributes", ["probe", "attributes"], None, ["device_updatable_graph"]),
    ("graphincapture", ["probe", "graphincapture"], None, []),
    ("execchild", ["probe", "execchild"], None, ["graph_updated_unseen"]),
    ("legacy", ["probe", "legacy"], 3, []),
    ("devicelaunchable", ["probe", "devicelaunchable"], None, ["device_launched_graph"]),
    ("device_kernels", ["device_launch", "kernels", "100"], 100, ["device_launch_possible"]),
    ("device_graphs", ["device_launch", "graphs", "100"], 100, ["device_launched_graph"]),
]


def problems(report):
    """Every reason that a report names, wherever it stands in it."""
    names = set()

    def walk(value):
        if isinstance(value, dict):
            for key in ("kind", "name", "reason"):
                if isinstance(value.get(key), str):
                    names.add(value[key])
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)
        elif isinstance(value, str):
            names.add(value)

    walk(report)
    return names


def run(binaries, out, name, command, asked, named):
    program = os.path.join(binaries, command[0])
    if not os.path.exists(program):
        return "SKIPPED" if command[0] == "device_launch" else "FAILED", f"no {command[0]}"
    folder = os.path.join(out, name)
    tool = os.path.join(binaries, "hotproof")
    done = subprocess.run([tool, "run", "-o", folder, "--", program, *command[1:]], capture_output=True, text=True,
                          timeout=60)
    with open(os.path.join(out, name + ".err"), "w") as file:
        file.write(done.stderr)
    if done.returncode != 0:
        return "FAILED", f"exit code {done.returncode}: {done.stderr.strip()[-200:]}"
    said = json.loads(done.stdout.splitlines()[-1])
    text = subprocess.run([tool, "report", folder, "--phase", "all", "--format", "json"], capture_output=True,
                          text=True).stdout
    with open(os.path.join(out, name + ".json"), "w") as file:
        file.write(text)
    report = json.loads(text)
    completeness = report["processes"][0]["completeness"]
    expected, recorded = completeness["expected"], completeness["recorded"]
    want = said["counted"] if asked is None else asked
    text = (f"counted on the device {said['counted']}, expected {expected}, recorded {recorded}, "
            f"{completeness['state']}")
    missing = [reason for reason in named if not any(reason in found for found in problems(report))]
    if missing:
        return "FAILED", f"{text}; not named: {', '.join(missing)}"
    if expected != want or (not named and (recorded != want or completeness["state"] != "COMPLETE")):
        return "FAILED", f"{text}; {want} wanted"
    if named and completeness["state"] == "COMPLETE":
        return "FAILED", f"{text}; LOWER_BOUND wanted"
    return "ok", text


def main():
    binaries, out = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.makedirs(out, exist_ok=True)
    results = []
    for name, command, asked, named in CASES:
        try:
            result, text = run(binaries, out, name, command, asked, named)
        except (subprocess.TimeoutExpired, ValueError, KeyError, IndexError) as error:
            result, text = "FAILED", f"{type(error).__name__}: {error}"
        results.append(result)
        print(f"{name:18} {result:8} {' '.join(text.split())}", flush=True)
    failed = results.count("FAILED")
    print(f"{failed} of {len(CASES)} cases failed, {results.count('SKIPPED')} skipped")
    sys.exit(failed != 0 or "ok" not in results)


if __name__ == "__main__":
    main()
