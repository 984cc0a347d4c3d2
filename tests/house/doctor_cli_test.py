#!/usr/bin/env python3
"""`hotproof doctor` from outside: exit codes, table, JSON, advice.

Usage: doctor_cli_test.py HOTPROOF_PROGRAM [unittest arguments]
"""
import json
import shutil
import subprocess
import unittest

from run_case import HOTPROOF, RunTest


class Doctor(RunTest):
    def doctor(self, *options, environment=None):
        return subprocess.run([HOTPROOF, "doctor", *options], capture_output=True, text=True, timeout=60,
                              env={**self.environment, **(environment or {})})

    def test_exit_code_and_table(self):
        done = self.doctor("-o", str(self.root))
        self.assertIn(done.returncode, (0, 3), done)
        self.assertEqual(done.stderr, "")
        self.assertIn("traced run can" if done.returncode == 0 else "traced run cannot", done.stdout)

    def test_json(self):
        done = self.doctor("--format", "json", environment={"HOTPROOF_CUPTI": "/nowhere/libcupti.so"})
        self.assertEqual(done.returncode, 3, done)
        report = json.loads(done.stdout)
        self.assertFalse(report["canTrace"])
        cupti = next(check for check in report["checks"] if check["id"] == "cupti")
        self.assertEqual((cupti["state"], cupti["advice"]), ("MISSING", "correct HOTPROOF_CUPTI"))

    def test_a_missing_library_is_our_own_fault(self):
        self.assertEqual(self.doctor(environment={"HOTPROOF_LIBRARY": "/nowhere/lib.so"}).returncode, 1)

    def test_a_library_that_the_loader_cannot_name_is_to_be_moved(self):
        spaced = self.root / "a folder" / "lib.so"
        spaced.parent.mkdir()
        library = next(line.split()[-1] for line in open("/proc/self/maps") if "libc.so.6" in line)
        shutil.copy(library, spaced)
        done = self.doctor(environment={"HOTPROOF_LIBRARY": str(spaced)})
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("has a space or a colon", done.stdout)
        self.assertIn("-> move hotproof's bin/ and lib/", done.stdout)

    def test_a_folder_in_which_nothing_can_be_made(self):
        done = self.doctor("-o", "/proc")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("/proc cannot be written", done.stdout)
        self.doctor("-o", str(self.root))
        self.assertEqual(list(self.root.iterdir()), [])

    def test_wrong_usage(self):
        self.assertEqual(self.doctor("--format", "xml").returncode, 2)


if __name__ == "__main__":
    unittest.main()
