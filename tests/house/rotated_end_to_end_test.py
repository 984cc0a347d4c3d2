#!/usr/bin/env python3
"""A run that is left on, on a machine without a GPU: its files are closed and removed while it runs, and what
is asserted of it afterwards is decided as if they were there, or not at all.

Usage: rotated_end_to_end_test.py HOTPROOF_PROGRAM FAULTS_PROGRAM FAKE_DRIVER_FOLDER FAKE_CUPTI [unittest arguments]
The driver and CUPTI are tests/fake_cuda/'s; the program says how often it launched what.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HOTPROOF, PROGRAM, DRIVER, CUPTI = (os.path.abspath(sys.argv.pop(1)) for _ in range(4))
PASS, FAIL, INCONCLUSIVE = 0, 1, 3
FILES = 12
KEEP = 760 << 10  # the counters take 644 KiB of it


class RotatedEndToEnd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="hotproof-rotated-")
        cls.out = pathlib.Path(cls.folder.name, "out")
        cls.environment = {**os.environ, "LD_LIBRARY_PATH": DRIVER, "HOTPROOF_CUPTI": CUPTI,
                           "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
        done = cls.hotproof("run", "-o", cls.out, "--rotate-size", "1K", "--keep", KEEP, "--", PROGRAM, "serve",
                            cls.out, FILES)
        assert done.returncode == 0, done
        cls.launched = json.loads(done.stdout)
        cls.report = json.loads(cls.hotproof("report", cls.out, "--format", "json").stdout)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def hotproof(cls, *words):
        return subprocess.run([HOTPROOF, *map(str, words)], capture_output=True, text=True, timeout=120,
                              env=cls.environment)

    def verdict(self, *words):
        return self.hotproof("assert", self.out, *words).returncode

    def test_the_folder_is_bounded_and_files_are_gone(self):
        closed = sorted(path.name for path in self.out.glob("*.hps"))
        self.assertTrue(closed)
        self.assertNotIn(".000001.", closed[0])
        newest, = self.out.glob("*.hpt")
        kept = sum(path.stat().st_blocks * 512 for path in self.out.iterdir())
        self.assertLessEqual(kept, KEEP + newest.stat().st_blocks * 512 + 8192)  # written behind the last rotation
        process, = self.report["processes"]
        self.assertGreaterEqual(process["rotatedOut"]["files"], FILES - len(closed) - 1)

    def test_counts_are_exact_and_times_a_lower_bound(self):
        process, = self.report["processes"]
        all_launches = sum(self.launched.values())
        completeness = process["completeness"]
        self.assertEqual((completeness["state"], completeness["countsExact"]), ("LOWER_BOUND", True), process)
        self.assertEqual((completeness["expected"], completeness["recorded"]), (all_launches, all_launches))
        self.assertEqual([reason["name"] for reason in completeness["reasons"]], ["rotated_out"])
        kernels = {kernel["kernel"]: kernel for kernel in self.report["kernels"]}
        self.assertEqual({name: (kernel["launches"], kernel.get("warmupLaunches", 0)) for name, kernel in kernels.items()},
                         {"probe_count": (self.launched["count"], 0),
                          "probe_empty": (self.launched["empty"], self.launched["warmup"])})
        gone = {kernel["kernel"]: kernel["records"] for kernel in process["rotatedOut"]["kernels"]}
        self.assertGreater(gone["probe_count"], 0)
        self.assertEqual(kernels["probe_count"]["timedLaunches"] + gone["probe_count"], self.launched["count"])
        self.assertEqual(kernels["probe_empty"]["timedLaunches"] + gone["probe_empty"],
                         self.launched["empty"] + self.launched["warmup"])

    def test_claims_on_counts_are_decided(self):
        for name, steady, warmup in (("probe_count", self.launched["count"], 0),
                                     ("probe_empty", self.launched["empty"], self.launched["warmup"])):
            kernel = ("--kernel", name, "--kind", "any")
            self.assertEqual(self.verdict(*kernel, "--launches", steady), PASS)
            self.assertEqual(self.verdict(*kernel, "--launches", steady + warmup, "--phase", "all"), PASS)
            self.assertEqual(self.verdict(*kernel, "--launches", steady - 1), FAIL)
            self.assertEqual(self.verdict(*kernel, "--min-launches", steady + 1), FAIL)
            self.assertEqual(self.verdict(*kernel, "--max-launches", 0), FAIL)
        self.assertEqual(self.verdict("--kernel", "custom_gemm", "--max-launches", 0), PASS)
        self.assertEqual(self.verdict("--kernel", "custom_gemm", "--min-launches", 1), FAIL)

    def test_claims_on_times_are_not(self):
        kernel = ("--kernel", "probe_count", "--kind", "any")
        self.assertEqual(self.verdict(*kernel, "--time-share", ">=0.0001"), INCONCLUSIVE)
        self.assertEqual(self.verdict(*kernel, "--time-share", "<=0.9999"), INCONCLUSIVE)


if __name__ == "__main__":
    unittest.main()
