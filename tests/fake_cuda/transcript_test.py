"""transcript_test.py ARCHIVE PROBE FORWARDER CLIENT DRIVER_DIR CUPTI: the stand-ins do what the GPU did.

Runs each of the probe's scenarios under the stand-ins with the same forwarder and client that took the
archive's transcripts on a GPU, and compares the two logs (compare_transcripts.py). Exit code 1 if any
differ.
"""
import os
import signal
import subprocess
import sys
import tarfile
import tempfile

import compare_transcripts

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
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        recorded, made = os.path.join(folder, "recorded"), os.path.join(folder, "made")
        os.mkdir(made)
        with tarfile.open(archive) as tar:
            tar.extractall(recorded)  # an archive of our own
        logs = recorded_logs(recorded)
        for scenario in subprocess.check_output([probe], text=True).split():
            if scenario not in logs:
                continue
            environment = dict(os.environ, LD_LIBRARY_PATH=driver_dir, LD_PRELOAD=forwarder,
                               CUDA_INJECTION64_PATH=client, REAL_CUPTI=cupti,
                               FORWARD_OUT=os.path.join(made, scenario))
            run = subprocess.run([probe, scenario], env=environment, timeout=60,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if run.returncode != EXITS.get(scenario, 0):
                bad.append(f"{scenario}: exit code {run.returncode}")
                continue
            ours = recorded_logs(made).get(scenario, [])
            # A GPU process and its forked child have a log each; of others the first is compared.
            for theirs, mine in zip(logs[scenario], ours):
                bad += [f"{scenario}: {line}" for line in compare_transcripts.compare(theirs, mine)]
            print(f"{scenario}: {len(ours)} process{'' if len(ours) == 1 else 'es'} compared")
    for line in bad:
        print(line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
