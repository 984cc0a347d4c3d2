"""differential_test.py BUILD_FOLDER BIN_FILES... -- DRIVER_DIR CUPTI: run_differential.sh and differential.py
under the stand-ins: the same comparison that is made on a GPU, without torch. Then two records are changed
in a log, and the comparison must say so.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "trace"), os.path.join(HERE, "..", "forwarding_cupti")]
import records  # noqa: E402
from second_reader_test import interpreter  # noqa: E402


def first_of_kind(log_path, kind):
    """Where in the raw file the first record of this kind begins."""
    log = records.Log(log_path)
    for event in log.events:
        for offset in event.get("offsets", []) if event["e"] == "completed" else []:
            record = records.decode(log.raw, event["raw_offset"] + offset)
            if record["kind"] == kind:
                return event["raw_offset"] + offset
    raise ValueError("no such record")


def main():
    split = sys.argv.index("--")
    build, programs = sys.argv[1], sys.argv[2:split]
    driver_dir, cupti = sys.argv[split + 1:]
    python = interpreter(build)
    differential = [python, os.path.join(HERE, "differential.py")]
    with tempfile.TemporaryDirectory() as folder:
        bin_dir, out = os.path.join(folder, "bin"), os.path.join(folder, "out")
        os.mkdir(bin_dir)
        for program in programs:
            shutil.copy(program, bin_dir)
        environment = dict(os.environ, LD_LIBRARY_PATH=driver_dir, REAL_CUPTI=cupti, WITH_TORCH="0")
        subprocess.run([os.path.join(HERE, "run_differential.sh"), bin_dir, out], env=environment,
                       check=True, timeout=300)
        bad = 0
        runs = sorted(glob.glob(os.path.join(out, "*")))
        if len(runs) < 19:
            sys.exit(f"only {len(runs)} runs")
        for run in runs:
            print(os.path.basename(run), flush=True)
            bad += subprocess.run(differential + [run + "/traces", run + "/logs"]).returncode != 0
        if bad:
            sys.exit(f"{bad} runs differ")
        # Edges, against the transcript of the same scenario on an H200; then of another run, and of none.
        archive = os.path.join(HERE, "..", "..", "..", "docs", "measurements", "transcripts", "h200-cupti-13.0.tar.xz")
        edges = [python, os.path.join(HERE, "edges.py"), "--all"]
        swapped = os.path.join(folder, "swapped")
        shutil.copytree(out, swapped)
        for scenario, to in ("forkjoin", "kept"), ("byhand", "forkjoin"), ("kept", "byhand"):
            os.rename(os.path.join(swapped, scenario), os.path.join(swapped, to))
        lacking = shutil.copytree(out, os.path.join(folder, "lacking"))
        shutil.rmtree(os.path.join(lacking, "pdl"))
        for runs_of, expected in (out, 0), (swapped, 1), (lacking, 1):
            done = subprocess.run(edges + [runs_of, archive], capture_output=True, text=True)
            if done.returncode != expected:
                sys.exit(f"edges of {runs_of}: {done.returncode}\n{done.stdout}{done.stderr}")
        # The comparison can fail: one byte of one record's grid, then a launch that the trace has not.
        run = os.path.join(out, "capture")
        raw = glob.glob(run + "/logs/*.raw")[0]
        with open(raw, "r+b") as file:
            data = bytearray(file.read())
            data[first_of_kind(raw[:-len("raw")] + "jsonl", records.KIND_CONCURRENT_KERNEL) + 52] += 1  # gridX
            file.seek(0)
            file.write(data)
        changed = subprocess.run(differential + [run + "/traces", run + "/logs"], capture_output=True,
                                 text=True)
        if changed.returncode != 1 or "gridX" not in changed.stdout:
            sys.exit("a changed record was not found:\n" + changed.stdout)
        # The same for an operation: one byte of the number of bytes of a copy.
        run = os.path.join(out, "operations")
        log_path = glob.glob(run + "/logs/*.jsonl")[0]
        with open(log_path[:-len("jsonl")] + "raw", "r+b") as file:
            data = bytearray(file.read())
            data[first_of_kind(log_path, records.KIND_MEMCPY) + 8] ^= 1  # bytes
            file.seek(0)
            file.write(data)
        changed = subprocess.run(differential + [run + "/traces", run + "/logs"], capture_output=True,
                                 text=True)
        if changed.returncode != 1 or "operations differ" not in changed.stdout:
            sys.exit("a changed operation was not found:\n" + changed.stdout)
        # The same for a host time: the log says that a call returned a second after the trace does.
        log_path = glob.glob(os.path.join(out, "child") + "/logs/*.jsonl")[0]
        with open(log_path) as file:
            lines = file.readlines()
        at = next(i for i, line in enumerate(lines)
                  if '"f":"cuGraphLaunch"' in line and '"site":"exit"' in line and '"ret":0' in line)
        lines[at] = re.sub(r'"ns":(\d+)', lambda found: f'"ns":{int(found[1]) + 10**9}', lines[at])
        with open(log_path, "w") as file:
            file.writelines(lines)
        run = os.path.join(out, "child")
        changed = subprocess.run(differential + [run + "/traces", run + "/logs"], capture_output=True,
                                 text=True)
        if changed.returncode != 1 or "not between the forwarder's stamps" not in changed.stdout:
            sys.exit("a changed host time was not found:\n" + changed.stdout)
        run = os.path.join(out, "graphs")
        log = glob.glob(run + "/logs/*.jsonl")[0]
        with open(log) as file:
            lines = file.readlines()
        lines.remove(next(line for line in lines
                          if '"f":"cuGraphLaunch"' in line and '"site":"exit"' in line))
        with open(log, "w") as file:
            file.writelines(lines)
        changed = subprocess.run(differential + [run + "/traces", run + "/logs"], capture_output=True,
                                 text=True)
        if changed.returncode != 1 or "launches differ" not in changed.stdout:
            sys.exit("a missing launch was not found:\n" + changed.stdout)


if __name__ == "__main__":
    main()
