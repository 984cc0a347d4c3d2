"""Kernels of one name from two cubins, launched by two libraries through libcudart: two rows of the report, each with
the library that launched it, whether the cubins are known or not; and assert counts both.

Usage: two_libraries_test.py HOTPROOF PROGRAM CUBIN DRIVER_DIR CUPTI LIBRARY
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HOTPROOF, PROGRAM, CUBIN, DRIVER, CUPTI, LIBRARY = sys.argv[1:7]
KERNEL = "hotproof_sm90_fp8_gemm_fixture"  # as long as the name in the cubin


class TwoLibraries(unittest.TestCase):
    def rows(self, how):
        """(launches, library, whether the cubin is known) of a run in which the kernels are loaded so."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        with open(CUBIN, "rb") as file:
            image = bytearray(file.read().replace(b"_Z22hotproof_fixture_scalePffi", KERNEL.encode()))
        paths = {name: os.path.join(folder.name, name) for name in ("a.cubin", "b.cubin", "libb_launcher.so", "run")}
        for name in ("a.cubin", "b.cubin"):
            with open(paths[name], "wb") as out:
                out.write(image)
            image[-1] ^= 1
        shutil.copy(LIBRARY, paths["libb_launcher.so"])
        done = subprocess.run(
            [HOTPROOF, "run", "-o", paths["run"], "--", PROGRAM, how, paths["a.cubin"], paths["b.cubin"], LIBRARY,
             paths["libb_launcher.so"]],
            env={**os.environ, "LD_LIBRARY_PATH": DRIVER, "HOTPROOF_CUPTI": CUPTI}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        asserted = subprocess.run([HOTPROOF, "assert", paths["run"], "--phase", "all", "--kernel", KERNEL, "--launches",
                                   "10"], capture_output=True, text=True)
        self.assertEqual(asserted.returncode, 0, asserted.stdout + asserted.stderr)
        report = subprocess.run([HOTPROOF, "report", paths["run"], "--phase", "all", "--format", "json"],
                                capture_output=True, text=True, check=True)
        rows = json.loads(report.stdout)["gemms"]
        self.assertEqual({row["kernel"] for row in rows}, {KERNEL})
        return sorted((row["launches"], row["library"], row["cubinHash"] != "") for row in rows)

    def test_cubins_that_are_known(self):
        self.assertEqual(self.rows("modules"), [(3, "libb_launcher.so", True), (7, os.path.basename(LIBRARY), True)])

    def test_cubins_that_are_not(self):
        self.assertEqual(self.rows("libraries"),
                         [(3, "libb_launcher.so", False), (7, os.path.basename(LIBRARY), False)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
