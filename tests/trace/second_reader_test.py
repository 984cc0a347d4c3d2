"""Compares second_reader.py and the modules beside it with the C++ reader, line by line, on generated, damaged and shipped
traces. Sets up what the second reader needs in a virtual environment of the build folder.

Usage: second_reader_test.py DUMP_TRACE MAKE_TRACE BUILD_FOLDER SOURCE_FOLDER
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import venv

PACKAGES = ["zstandard==0.23.0", "xxhash==3.5.0"]


def interpreter(build):
    """Python with the packages; installed once."""
    folder = os.path.join(build, "second_reader_venv")
    python = os.path.join(folder, "bin", "python")
    done = os.path.join(folder, "done")
    if not os.path.exists(done):
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                        *PACKAGES], check=True)
        open(done, "w").close()
    return python


def compare(name, first, second):
    """Runs both commands; returns the number of lines that agree, exits on a difference."""
    outputs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout
               for command in (first, second)]
    lines = [output.splitlines() for output in outputs]
    for number, (ours, theirs) in enumerate(zip(*lines)):
        if ours != theirs:
            sys.exit(f"{name}: line {number + 1}\n  C++    {ours[:500]}\n  Python {theirs[:500]}")
    if len(lines[0]) != len(lines[1]):
        sys.exit(f"{name}: {len(lines[0])} lines of C++, {len(lines[1])} of Python")
    return len(lines[0])


def main(dump_trace, make_trace, build, source):
    python = interpreter(build)
    second_reader = os.path.join(os.path.dirname(os.path.abspath(__file__)), "second_reader_dump.py")

    def check(name, path):
        lines = compare(name, [dump_trace, path], [python, second_reader, path])
        if lines < 10:
            sys.exit(f"{name}: only {lines} lines")
        print(f"{name}: {lines} lines agree", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.hpt")
        subprocess.run([dump_trace, "--small", path], check=True)
        check("small trace", path)
        small = open(path, "rb").read()
        for cut in range(len(small) * 2 // 5, len(small), 23):
            with open(path, "wb") as file:
                file.write(small[:cut])
            check(f"small trace cut at {cut}", path)
        for launches, chunk, seed in ((3000, 700, 1), (60000, 20000, 2)):
            subprocess.run([make_trace, "--launches", str(launches), "--chunk", str(chunk),
                            "--seed", str(seed), "--out", path], check=True)
            check(f"{launches} launches in chunks of {chunk}", path)
        whole = open(path, "rb").read()
        for at in range(whole.index(b"\x28\xb5\x2f\xfd", 4), len(whole), 30_011):  # behind the tables
            with open(path, "wb") as file:
                file.write(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1:])
            check(f"byte {at} changed", path)
        counters = os.path.join(folder, "a.hpc")
        with open(path, "wb") as file:
            file.write(whole)
        counts = open(counters, "rb").read()
        for at in (7, 9, 20, 33, 47, 50, 60, 4096 + 8, len(counts) - 3):  # 50: in what nobody reads
            with open(counters, "wb") as file:
                file.write(counts[:at] + bytes([counts[at] ^ 0x10]) + counts[at + 1:])
            check(f"byte {at} of the counters changed", path)
        for gone in range(0, 5):  # files of a trace in six
            if gone == 0:
                subprocess.run([make_trace, "--launches", "60000", "--chunk", "2500", "--file-chunks", "3",
                                "--out", path], check=True)
            else:
                os.remove(os.path.join(folder, f"a.{gone:06}.hps"))
            check(f"{gone} files gone", path)
    shipped = sorted(glob.glob(os.path.join(source, "examples", "**", "*.hpt"), recursive=True))
    if not shipped:
        sys.exit(f"no trace below {source}/examples")
    for path in shipped:
        check(os.path.relpath(path, source), path)


if __name__ == "__main__":
    main(*sys.argv[1:])
