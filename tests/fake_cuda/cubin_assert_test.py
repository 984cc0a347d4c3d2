"""`hotproof assert --cubin-of` and `--range` on runs under the stand-in, with cubins that nvcc made.

Usage: cubin_assert_test.py HOTPROOF PROGRAM FIXTURES DRIVER_DIR CUPTI
"""
import os
import subprocess
import sys
import tempfile
import unittest

HOTPROOF, PROGRAM, FIXTURES, DRIVER, CUPTI = sys.argv[1:6]
PASS, FAIL, INCONCLUSIVE = 0, 1, 3
LAUNCHES = 7  # eager, and 2 replays of one


def fixture(name):
    return os.path.join(FIXTURES, name)


class Run(unittest.TestCase):
    """One traced run of the program with `cubin`."""

    def cubin(self):
        return fixture("sm_90a.cubin")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.run_folder = os.path.join(self.folder, "run")
        done = subprocess.run(
            [HOTPROOF, "run", "-o", self.run_folder, "--", PROGRAM, self.cubin(), str(LAUNCHES)],
            env={**os.environ, "LD_LIBRARY_PATH": DRIVER, "HOTPROOF_CUPTI": CUPTI}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def check(self, verdict, cubin_of, *options):
        done = subprocess.run([HOTPROOF, "assert", self.run_folder, "--phase", "all", "--cubin-of", fixture(cubin_of),
                               *options], capture_output=True, text=True)
        self.assertEqual(done.returncode, verdict, done.stdout + done.stderr)


class CubinOf(Run):
    def test_all_its_launches_and_no_more(self):
        self.check(PASS, "sm_90a.cubin", "--min-launches", str(LAUNCHES + 2))
        self.check(FAIL, "sm_90a.cubin", "--min-launches", str(LAUNCHES + 3))
        self.check(FAIL, "sm_90a.cubin", "--max-launches", "0")

    def test_another_cubin_of_the_same_kernel(self):
        self.check(FAIL, "sm_80.cubin", "--min-launches", "1")
        self.check(PASS, "sm_80.cubin", "--max-launches", "0")

    def test_a_fat_binary_that_has_both(self):
        for fat in ("plain.fatbin", "packed.fatbin"):
            self.check(PASS, fat, "--min-launches", str(LAUNCHES + 2))
            self.check(FAIL, fat, "--max-launches", "0")
        self.check(FAIL, "plain.fatbin", "--min-launches", str(LAUNCHES + 3))

    def test_in_a_range(self):
        self.check(PASS, "sm_90a.cubin", "--range", "eager", "--min-launches", str(LAUNCHES))
        self.check(FAIL, "sm_90a.cubin", "--range", "eager", "--min-launches", str(LAUNCHES + 1))
        self.check(PASS, "sm_90a.cubin", "--range", "captured", "--min-launches", "2")
        self.check(FAIL, "sm_80.cubin", "--range", "eager", "--min-launches", "1")


class FromElsewhere(Run):
    """A cubin that no file has, as the driver makes of PTX: its kernel's name is all that is known of it."""

    def cubin(self):
        with open(fixture("sm_90a.cubin"), "rb") as original:
            image = bytearray(original.read())
        image[-1] ^= 1  # in a segment's alignment, which nobody reads
        path = os.path.join(self.folder, "compiled.cubin")
        with open(path, "wb") as out:
            out.write(image)
        return path

    def test_a_file_with_the_kernel_as_ptx_may_be_where_it_is_from(self):
        self.check(INCONCLUSIVE, "packed.fatbin", "--min-launches", "1")
        self.check(INCONCLUSIVE, "packed.fatbin", "--max-launches", "0")

    def test_a_file_without_ptx_is_not(self):
        self.check(FAIL, "plain.fatbin", "--min-launches", "1")
        self.check(PASS, "plain.fatbin", "--max-launches", "0")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
