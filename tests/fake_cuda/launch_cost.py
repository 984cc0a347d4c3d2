"""What the tracer adds to an eager launch, in CPU time: launch_benchmark without it, under a CUPTI client
that subscribes and does nothing, and under the tracer in both modes.

Usage: launch_cost.py BENCHMARK TRACER BARE_CLIENT DRIVER_FOLDER CUPTI
"""
import json
import os
import subprocess
import sys
import tempfile

BENCHMARK, TRACER, CLIENT, DRIVER, CUPTI = (os.path.abspath(path) for path in sys.argv[1:6])


def run(environment):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "result.json")
        subprocess.run(
            [BENCHMARK, f"--benchmark_out={out}", "--benchmark_repetitions=5", "--benchmark_min_time=0.05"], check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "LD_LIBRARY_PATH": DRIVER, "HOTPROOF_CUPTI": CUPTI,
                 **{name: value.replace("FOLDER", folder) for name, value in environment.items()}})
        rows = json.load(open(out))["benchmarks"]
    return {row["run_name"]: row["cpu_time"] for row in rows if row.get("aggregate_name") == "median"}


def main():
    traced = {"LD_PRELOAD": TRACER, "HOTPROOF_OUT": "FOLDER/trace"}
    runs = {"plain": run({}),
            "client": run({"CUDA_INJECTION64_PATH": CLIENT, "LD_LIBRARY_PATH":
                           f"{DRIVER}:{os.path.dirname(CUPTI)}"}),
            "count": run({**traced, "HOTPROOF_MODE": "count"}),
            "full": run({**traced, "HOTPROOF_MODE": "full"})}
    print(f"{'ns of CPU':16}", *(f"{name:>8}" for name in runs), " count-plain  full-plain")
    for name in runs["plain"]:
        values = [results[name] for results in runs.values()]
        print(f"{name:16}", *(f"{value:8.0f}" for value in values),
              f"{values[2] - values[0]:12.0f} {values[3] - values[0]:11.0f}")


if __name__ == "__main__":
    main()
