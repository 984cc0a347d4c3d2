"""What the tracer's own threads cost a launch, in CPU time on the stand-in: steady_launches under the tracer, and under
a client that takes the same records and throws them away, whose share of CUPTI's own thread is the stand-in's.

Usage: thread_cost.py BUILD [ROUNDS] [LAUNCHES]
Prints for eager launches and for those of a replayed graph the least of ROUNDS rounds in turns, ns of CPU a launch.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

from launch_cost import BUILD, CLIENT, CUPTI, DRIVER, TRACED

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 7
LAUNCHES = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000
RUNS = {"idle": {**CLIENT, "QUIET_CLIENT_TIMES": "1"}, "traced": TRACED}
PROGRAM = f"{BUILD}/bin/steady_launches"


def threads(kind, environment):
    """Thread name -> ns of CPU a launch, once warm."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([PROGRAM, kind, str(LAUNCHES // 5), str(LAUNCHES)], check=True, text=True,
                              stdout=subprocess.PIPE,
                              env={**os.environ, "LD_LIBRARY_PATH": DRIVER, "HOTPROOF_CUPTI": CUPTI,
                                   **{name: value.replace("FOLDER", folder) for name, value in environment.items()}})
    last = done.stdout.splitlines()[-1]
    return {name: int(ns) / LAUNCHES for name, ns in re.findall(r", (\S+) (\d+) ns", last)}


def main():
    print(f"{ROUNDS} rounds of {LAUNCHES} launches, load {os.getloadavg()[0]:.1f}, ns of CPU a launch")
    for kind in "eager", "replay":
        least = collections.defaultdict(lambda: float("inf"))
        for _ in range(ROUNDS):
            for run, environment in RUNS.items():
                for thread, ns in threads(kind, environment).items():
                    least[run, thread] = min(least[run, thread], ns)
        cupti = os.path.basename(PROGRAM)[:15]  # a thread without a name has the program's
        of_cupti = least["traced", cupti] - least["idle", cupti]
        own = least["traced", "hotproof"], least["traced", "hotproof-disk"]
        print(f"{kind:7} flushing {own[0]:.1f}, writing {own[1]:.1f}, on CUPTI's thread {of_cupti:.1f} "
              f"(beside {least['idle', cupti]:.1f} of the stand-in's); together {sum(own) + of_cupti:.1f}")


if __name__ == "__main__":
    main()
