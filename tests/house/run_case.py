"""What the tests of `hotproof run` and `hotproof doctor` have in common: a folder, an environment, a run.

Usage of a test: TEST.py HOTPROOF_PROGRAM [unittest arguments]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

HOTPROOF = os.path.abspath(sys.argv.pop(1))


def wait_for(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.02)


class RunTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="hotproof-run-")
        self.root = pathlib.Path(self.folder.name)
        self.out = self.root / "out"
        # The commands here are not ours; leaks in them are nobody's concern.
        self.environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
        self.environment.pop("LD_PRELOAD", None)

    def tearDown(self):
        self.folder.cleanup()

    def words(self, *command, options=()):
        return [HOTPROOF, "run", "-o", str(self.out), *options, "--", *command]

    def run_(self, *command, options=(), environment=None, **more):
        return subprocess.run(self.words(*command, options=options), capture_output=True, timeout=60,
                              env={**self.environment, **(environment or {})}, **more)

    def start(self, *command, stdout=subprocess.DEVNULL, **more):
        return subprocess.Popen(self.words(*command), stdout=stdout, stderr=subprocess.PIPE,
                                env=self.environment, **more)

    def manifest(self):
        return json.loads((self.out / "hotproof-manifest.json").read_text())

    def processes(self, name):
        """Those of the manifest that ran `name`: none before there is one. A process can end before its
        arguments were read."""
        if not (self.out / "hotproof-manifest.json").exists():
            return []
        return [p for p in self.manifest()["processes"]
                if p["arguments"] and os.path.basename(p["arguments"][0]) == name]

    def command_process(self, name):
        found = self.processes(name)
        self.assertEqual(len(found), 1, self.manifest())
        return found[0]
