"""What the tracer adds to an eager launch, in CPU time of the launching thread: launch_benchmark alone,
under a client that subscribes to the tracer's own callbacks and does nothing in them (what CUPTI and its
stand-in do for any such client), and under the tracer; in both modes.

Usage: launch_cost.py BUILD [ROUNDS]
Prints for each kind of launch the smallest of ROUNDS interleaved rounds in ns (other work on the machine
only ever adds), then what the tracer adds to the bare program and to the idle client: by the smallest, and the
median of what it added in each round, whose runs were made under the same load.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 15
DRIVER = f"{BUILD}/tests/fake_cuda/driver"
CUPTI = f"{BUILD}/tests/fake_cuda/cupti/libcupti.so.13"
CLIENT = {"CUDA_INJECTION64_PATH": f"{BUILD}/lib/libquiet_client.so",
          "LD_LIBRARY_PATH": f"{DRIVER}:{os.path.dirname(CUPTI)}"}
TRACED = {"LD_PRELOAD": f"{BUILD}/lib/libhotproof.so", "HOTPROOF_OUT": "FOLDER/trace"}
RUNS = {"bare": {},
        "idle count": CLIENT,
        "count": {**TRACED, "HOTPROOF_MODE": "count"},
        "idle full": {**CLIENT, "QUIET_CLIENT_TIMES": "1"},
        "full": {**TRACED, "HOTPROOF_MODE": "full"}}
ADDS = [("count", "bare"), ("count", "idle count"), ("full", "bare"), ("full", "idle full")]


def run(environment):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "result.json")
        subprocess.run(
            [f"{BUILD}/bin/launch_benchmark", f"--benchmark_out={out}", "--benchmark_min_time=0.05"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "LD_LIBRARY_PATH": DRIVER, "HOTPROOF_CUPTI": CUPTI,
                 **{name: value.replace("FOLDER", folder) for name, value in environment.items()}})
        return {row["name"]: row["cpu_time"] for row in json.load(open(out))["benchmarks"]}


def main():
    rounds = [{name: run(environment) for name, environment in RUNS.items()} for _ in range(ROUNDS)]
    print(f"{'ns of CPU a launch':18}", *(f"{name:>11}" for name in RUNS),
          *(f"{f'{name} - {base}':>19}" for name, base in ADDS))
    for launch in rounds[0]["bare"]:
        least = {name: min(r[name][launch] for r in rounds) for name in RUNS}
        added = [(least[name] - least[base], statistics.median(r[name][launch] - r[base][launch] for r in rounds))
                 for name, base in ADDS]
        print(f"{launch:18}", *(f"{least[name]:11.0f}" for name in RUNS),
              *(f"{f'{by_least:.0f}, {median:.0f}':>19}" for by_least, median in added))


if __name__ == "__main__":
    main()
