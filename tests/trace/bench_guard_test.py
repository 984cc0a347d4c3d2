"""The guard in trace_bench fails what runs it when it fires: the program, and scripts/bench with one line. Not a
timed test: the limits are ones that no report can meet, or none can miss.
Usage: bench_guard_test.py TRACE_BENCH SCRIPTS_BENCH [unittest arguments]"""
import importlib.machinery
import importlib.util
import io
import contextlib
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

TRACE_BENCH, SCRIPTS_BENCH = sys.argv[1:3]
ONE = ["--benchmark_filter=OverDecompress/eager:0", "--benchmark_repetitions=1"]


def scripts_bench():
    loader = importlib.machinery.SourceFileLoader("scripts_bench", SCRIPTS_BENCH)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("scripts_bench", loader))
    loader.exec_module(module)
    return module


class BenchGuardTest(unittest.TestCase):
    def run_scripts_bench(self, most_ratio):
        """What scripts/bench prints and how it ends, with nothing measured but the guard."""
        bench, out = scripts_bench(), io.StringIO()
        with tempfile.TemporaryDirectory() as build:
            os.mkdir(os.path.join(build, "bin"))
            program = os.path.join(build, "bin", "trace_bench")
            with open(program, "w") as file:
                file.write(f'#!/bin/sh\nexec "{TRACE_BENCH}" "$@" --most_ratio={most_ratio} {" ".join(ONE)}\n')
            os.chmod(program, 0o755)
            with mock.patch.object(bench, "compare"), mock.patch.object(bench, "FOLDER", build), \
                    mock.patch.object(sys, "argv", ["bench", build]), contextlib.redirect_stdout(out):
                bench.main()
        return out.getvalue()

    def test_a_guard_that_fires_fails_the_program(self):
        done = subprocess.run([TRACE_BENCH, "--most_ratio=0.01", *ONE], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("times decompression alone; the limit is 0.01", done.stdout + done.stderr)

    def test_and_scripts_bench_with_one_line(self):
        with self.assertRaises(SystemExit) as ended:
            self.run_scripts_bench(0.01)
        self.assertRegex(ended.exception.code, r"\Ascripts/bench: in one thread, 0% eager: ReportOverDecompress: "
                                               r"a report costs [\d.]+ times decompression alone; the limit is 0.01\Z")

    def test_one_that_does_not_fire_is_a_row(self):
        self.assertRegex(self.run_scripts_bench(1e9), r"0% eager: ReportOverDecompress: [\d.]+ times \|")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
