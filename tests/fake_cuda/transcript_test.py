"""transcript_test.py ARCHIVE PROBE FORWARDER CLIENT DRIVER_DIR CUPTI: the stand-ins do what the GPU did.

Runs each recorded scenario of the probe under the stand-ins with the same forwarder and client that took the
archive's transcripts on a GPU, and compares the two logs (compare_transcripts.py). Exit code 1 if any
differ, if one that is recorded can't be run, or if a run leaves other than as many logs as were recorded.
"""
import os
import signal
import subprocess
import sys
import tarfile
import tempfile

import compare_transcripts

# Recorded for the notes in docs/measurements/transcripts: other programs than the probe, or other settings of the client.
NOTES = {"ask", "ask_modules", "flush", "runtime", "second"}
EXITS = {"exitthread": 7, "underscoreexit": 3, "killed": -signal.SIGKILL}


def recorded_logs(folder):
    """Scenario -> its transcripts, by process id."""
    logs = {}
    for name in os.listdir(folder):
        if name.endswith(".jsonl"):
            scenario, pid, _ = name.split(".")
            logs.setdefault(scenario, []).append((int(pid), os.path.join(folder, name)))
    return {scenario: [path for _, path in sorted(paths)] for scenario, paths in logs.items()}


def main():
    archive, probe, forwarder, client, driver_dir, cupti = sys.argv[1:]
    bad, compared = [], 0
    with tempfile.TemporaryDirectory() as folder:
        recorded, made = os.path.join(folder, "recorded"), os.path.join(folder, "made")
        os.mkdir(made)
        with tarfile.open(archive) as tar:
            tar.extractall(recorded)  # an archive of our own
        logs = recorded_logs(recorded)
        # run_probe.sh looks with it first whether there is a GPU at all.
        logs["initonly"] = logs["initonly"][-1:]
        known = set(subprocess.check_output([probe], text=True).split())
        bad += [f"{scenario}: recorded, but not a scenario of the probe" for scenario in set(logs) - NOTES - known]
        for scenario in sorted(set(logs) - NOTES & known):
            environment = dict(os.environ, LD_LIBRARY_PATH=driver_dir, LD_PRELOAD=forwarder,
                               CUDA_INJECTION64_PATH=client, REAL_CUPTI=cupti,
                               FORWARD_OUT=os.path.join(made, scenario))
            run = subprocess.run([probe, scenario], env=environment, timeout=60,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if run.returncode != EXITS.get(scenario, 0):
                bad.append(f"{scenario}: exit code {run.returncode}")
                continue
            ours = recorded_logs(made).get(scenario, [])
            # A GPU process and its forked child have a log each.
            if len(ours) != len(logs[scenario]):
                bad.append(f"{scenario}: {len(logs[scenario])} processes recorded, {len(ours)} left a log")
                continue
            for theirs, mine in zip(logs[scenario], ours):
                bad += [f"{scenario}: {line}" for line in compare_transcripts.compare(theirs, mine)]
            compared += len(ours)
            print(f"{scenario}: {len(ours)} process{'' if len(ours) == 1 else 'es'} compared")
    if compared == 0:
        bad.append("nothing was compared")
    for line in bad:
        print(line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
