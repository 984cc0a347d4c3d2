"""`hotproof assert --cubin-of` and `--range` on runs under the stand-in, with cubins that nvcc made, and the library
that launched.

Usage: cubin_assert_test.py HOTPROOF PROGRAM FIXTURES DRIVER_DIR CUPTI LIBRARY
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HOTPROOF, PROGRAM, FIXTURES, DRIVER, CUPTI, LIBRARY = sys.argv[1:7]
PASS, FAIL, BAD, INCONCLUSIVE = 0, 1, 2, 3
LAUNCHES = 7  # eager, and 2 replays of one


def fixture(name):
    return os.path.join(FIXTURES, name)


class Run(unittest.TestCase):
    """One traced run of the program with `cubin`."""

    more_arguments = []

    def cubin(self):
        return fixture("sm_90a.cubin")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.run_folder = os.path.join(self.folder, "run")
        done = subprocess.run(
            [HOTPROOF, "run", "-o", self.run_folder, "--", PROGRAM, self.cubin(), str(LAUNCHES),
             *self.more_arguments],
            env={**os.environ, "LD_LIBRARY_PATH": DRIVER, "HOTPROOF_CUPTI": CUPTI}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def check(self, verdict, cubin_of, *options):
        done = subprocess.run([HOTPROOF, "assert", self.run_folder, "--phase", "all", "--cubin-of", fixture(cubin_of),
                               *options], capture_output=True, text=True)
        self.assertEqual(done.returncode, verdict, done.stdout + done.stderr)

    def check_library(self, path):
        """The report names the file that launched the GEMM, whatever of CUDA lies between."""
        done = subprocess.run([HOTPROOF, "report", self.run_folder, "--phase", "all", "--format", "json"],
                              capture_output=True, text=True, check=True)
        rows = [(row["kernel"], row["launches"], row["library"]) for row in json.loads(done.stdout)["gemms"]]
        self.assertEqual(rows, [("my_fp8_gemm", LAUNCHES, os.path.basename(path))])


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

    def test_a_file_that_is_cut_off_is_no_evidence(self):
        with open(fixture("plain.fatbin"), "rb") as whole:
            image = whole.read()
        cut = os.path.join(self.folder, "cut.fatbin")
        for size in (1000, 4000, 7000, len(image) - 1):
            with open(cut, "wb") as out:
                out.write(image[:size])
            self.check(BAD, cut, "--max-launches", "0")
            self.check(BAD, cut, "--min-launches", "1")

    def test_in_a_library(self):
        self.check(PASS, LIBRARY, "--min-launches", str(LAUNCHES + 2))
        self.check(FAIL, LIBRARY, "--min-launches", str(LAUNCHES + 3))
        self.check(FAIL, LIBRARY, "--max-launches", "0")

    def test_the_program_launched(self):
        self.check_library(PROGRAM)

    def test_in_a_range(self):
        self.check(PASS, "sm_90a.cubin", "--range", "eager", "--min-launches", str(LAUNCHES))
        self.check(FAIL, "sm_90a.cubin", "--range", "eager", "--min-launches", str(LAUNCHES + 1))
        self.check(PASS, "sm_90a.cubin", "--range", "captured", "--min-launches", "2")
        self.check(FAIL, "sm_80.cubin", "--range", "eager", "--min-launches", "1")


class FromALibrary(Run):
    """The same, launched by the library that holds the kernel, through libcudart."""
    more_arguments = [LIBRARY]

    def test_it_is_named(self):
        self.check_library(LIBRARY)

    def test_its_launches_and_what_it_launched_from_elsewhere(self):
        self.check(PASS, LIBRARY, "--min-launches", str(LAUNCHES + 2))
        # It launched a kernel from PTX that it does not hold as it is: no proof of too few, nor for another file.
        self.check(INCONCLUSIVE, LIBRARY, "--min-launches", str(LAUNCHES + 3))
        self.check(FAIL, "sm_80.cubin", "--min-launches", "1")


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
        for file in ("plain.fatbin", LIBRARY):
            self.check(FAIL, file, "--min-launches", "1")
            self.check(PASS, file, "--max-launches", "0")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
