#!/usr/bin/env python3
"""`hotproof run` from outside: exit codes, signals, streams, descendants, manifest.

Usage: run_test.py HOTPROOF_PROGRAM [unittest arguments]
"""
import os
import pathlib
import pty
import signal
import stat
import subprocess
import sys
import time
import unittest

from run_case import HOTPROOF, RunTest, wait_for

UVM = "/dev/nvidia-uvm"


class ExitCodes(RunTest):
    def test_the_commands_own(self):
        for code in (0, 1, 3, 42, 127, 255):
            with self.subTest(code=code):
                self.out = self.root / f"out{code}"
                self.assertEqual(self.run_("sh", "-c", f"exit {code}").returncode, code)
                self.assertEqual(self.manifest()["exitCode"], code)
                self.assertTrue(self.manifest()["finished"])

    def test_128_and_the_signal(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
            with self.subTest(signal=number):
                self.out = self.root / f"out{number}"
                self.assertEqual(self.run_("sh", "-c", f"kill -{int(number)} $$").returncode, 128 + number)

    def test_127_when_it_cannot_be_started(self):
        done = self.run_("/nowhere/program")
        self.assertEqual(done.returncode, 127)
        self.assertEqual(done.stderr, b"hotproof: cannot start /nowhere/program: No such file or directory; "
                                      b"give a program that is there and may be run\n")
        self.assertEqual(self.manifest()["exitCode"], 127)
        self.out = self.root / "out2"
        plain_file = self.root / "not-executable"
        plain_file.write_text("")
        self.assertEqual(self.run_(str(plain_file)).returncode, 127)

    def check_nothing_started(self, done, words):
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(words, done.stderr)

    def test_2_when_the_folder_cannot_be_used(self):
        self.out.write_text("a file")
        self.check_nothing_started(self.run_("echo", "ran"), b"cannot create the folder")

    def test_2_when_the_folder_has_an_earlier_run(self):
        self.assertEqual(self.run_("true").returncode, 0)
        self.check_nothing_started(self.run_("echo", "ran"), b"holds hotproof-manifest.json of an earlier run")
        self.out = self.root / "not-started"
        self.assertEqual(self.run_("/nowhere/program").returncode, 127)
        self.check_nothing_started(self.run_("echo", "ran"), b"holds hotproof-manifest.json of an earlier run")

    def test_2_without_the_library(self):
        done = self.run_("echo", "ran", environment={"HOTPROOF_LIBRARY": "/nowhere/lib.so"})
        self.check_nothing_started(done, b"HOTPROOF_LIBRARY is /nowhere/lib.so: there is no such file")

    def test_2_with_a_library_that_the_loader_would_ignore(self):
        library = self.root / "lib.so"
        library.write_text("#!/bin/sh\n" * 20)
        self.check_nothing_started(self.run_("echo", "ran", environment={"HOTPROOF_LIBRARY": str(library)}),
                                   b"is no shared library of this machine")

    def test_the_dashes_are_named_where_they_are_missing(self):
        done = subprocess.run([HOTPROOF, "run", "-o", str(self.out), "--model", "x"], capture_output=True,
                              env=self.environment)
        self.check_nothing_started(done, b"usage: hotproof run -o DIR -- COMMAND...")

    def test_a_command_that_failed_is_named_before_the_machine(self):
        self.assertIn(b"the command ended with exit code 3", self.run_("sh", "-c", "exit 3").stderr)
        self.out = self.root / "out2"
        self.assertIn(b"hotproof doctor", self.run_("true").stderr)

    def test_2_for_wrong_usage(self):
        for words in (["run"], ["run", "-o", str(self.out)], ["run", "--", "true"],
                      ["run", "-o", str(self.out), "--mode", "wrong", "--", "true"],
                      *(["run", "-o", str(self.out), option, value, "--", "true"]
                        for option in ("--rotate-size", "--rotate-every", "--keep")
                        for value in ("-1", "-5M", "", "many"))):
            with self.subTest(words=words):
                done = subprocess.run([HOTPROOF, *words], capture_output=True, env=self.environment)
                self.assertEqual(done.returncode, 2, done)
                self.assertEqual(done.stderr.count(b"\n"), 1, done)
                self.assertFalse(self.out.exists())


class Streams(RunTest):
    def test_stdout_is_byte_equal_and_stderr_gets_one_line(self):
        bytes_ = os.urandom(1 << 20)
        (self.root / "bytes").write_bytes(bytes_)
        done = self.run_("cat", str(self.root / "bytes"))
        self.assertEqual(done.stdout, bytes_)
        self.assertTrue(done.stderr.startswith(b"hotproof: "), done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1)

    def test_stdin_and_stderr_are_the_commands(self):
        done = self.run_("sh", "-c", "cat >&2", input=b"through\n")
        self.assertEqual(done.stdout, b"")
        self.assertEqual(done.stderr.splitlines()[0], b"through")

    def test_arguments_after_the_dashes_are_left_alone(self):
        done = self.run_("printf", "%s|", "-o", "--mode", "", "--", "--help", "a b")
        self.assertEqual(done.stdout, b"-o|--mode||--|--help|a b|")


    def test_arguments_after_the_command_are_its_own_without_the_dashes_too(self):
        for command in (["echo", "hi", "--help"], ["echo", "--mode", "-o", "--", "report"]):
            with self.subTest(command=command):
                self.out = self.root / f"out{len(command)}"
                done = subprocess.run([HOTPROOF, "run", "-o", str(self.out), *command], capture_output=True,
                                      env=self.environment)
                self.assertEqual(done.returncode, 0, done)
                self.assertEqual(done.stdout.decode(), " ".join(command[1:]) + "\n")

    def test_a_command_with_the_name_of_one_of_ours(self):
        done = subprocess.run([HOTPROOF, "run", "-o", str(self.out), "doctor", "--help"], capture_output=True,
                              env={**self.environment, "PATH": "/nowhere"})
        self.assertEqual(done.returncode, 127, done)


class Environment(RunTest):
    def value(self, name, environment=None, options=()):
        return self.run_("sh", "-c", f'printf %s "${name}"', environment=environment, options=options).stdout.decode()

    def test_the_library_comes_first_and_others_are_kept(self):
        preload = self.value("LD_PRELOAD", {"LD_PRELOAD": "libm.so.6"}).split(":")
        self.assertEqual(preload[-1], "libm.so.6")
        self.assertEqual(os.path.basename(preload[-2]), "libhotproof.so")
        self.assertTrue(os.path.isabs(preload[-2]))

    def test_folder_and_mode(self):
        self.assertEqual(self.value("HOTPROOF_OUT", {"HOTPROOF_OUT": "/old"}), str(self.out.resolve()))
        self.out = self.root / "out2"
        self.assertEqual(self.value("HOTPROOF_MODE"), "full")
        self.out = self.root / "out3"
        self.assertEqual(self.value("HOTPROOF_MODE", options=["--mode", "count"]), "count")
        self.out = self.root / "out4"
        self.assertEqual(self.value("OTHER", {"OTHER": "kept"}), "kept")

    def test_variables_are_the_defaults_of_the_options(self):
        variables = {"HOTPROOF_MODE": "count", "HOTPROOF_RECORD": "operations", "HOTPROOF_ROTATE_BYTES": "4096",
                     "HOTPROOF_ROTATE_SECONDS": "60", "HOTPROOF_KEEP_BYTES": "65536"}
        options = ["--mode", "full", "--record", "kernels", "--rotate-size", "1M", "--rotate-every", "0", "--keep", "2M"]
        given = {"HOTPROOF_MODE": "full", "HOTPROOF_RECORD": "kernels", "HOTPROOF_ROTATE_BYTES": "1048576",
                 "HOTPROOF_ROTATE_SECONDS": "", "HOTPROOF_KEEP_BYTES": "2097152"}
        for environment, of_run, expected in ((variables, [], variables), (variables, options, given),
                                              ({}, options, given)):
            self.out = self.root / f"out{len(list(self.root.iterdir()))}"
            printed = self.run_("env", environment=environment, options=of_run).stdout.decode().splitlines()
            values = dict(line.split("=", 1) for line in printed if "=" in line)
            self.assertEqual({name: values.get(name, "") for name in variables}, expected)

    def test_a_variable_that_is_no_value_of_its_option_is_refused(self):
        for name, value in (("HOTPROOF_MODE", "fast"), ("HOTPROOF_KEEP_BYTES", "-1")):
            done = self.run_("echo", "ran", environment={name: value})
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertIn(f"{name}={value}".encode(), done.stderr)
        self.assertFalse(self.out.exists())
        done = subprocess.run([HOTPROOF, "classify", "name"], capture_output=True,
                              env={**self.environment, "HOTPROOF_MODE": "fast"})
        self.assertEqual(done.returncode, 0, done)

    def test_the_library_is_seen_in_the_process(self):
        process = self.start("sleep", "60")
        wait_for(lambda: self.processes("sleep") and self.processes("sleep")[0]["preloaded"], "the library to be seen")
        process.terminate()
        process.communicate()
        self.assertTrue(self.command_process("sleep")["preloaded"])


class Signals(RunTest):
    # Says when it is ready; counts signals for a moment after the first, then exits 40 + that number.
    COUNTER = """
import os, signal, sys, time
seen = []
signal.signal(getattr(signal, sys.argv[1]), lambda *_: seen.append(1))
open(sys.argv[2], "w").close()
while not seen: time.sleep(0.01)
time.sleep(0.3)
os._exit(40 + len(seen))
"""

    def test_are_passed_on_once(self):
        for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"):
            with self.subTest(signal=name):
                self.out = self.root / name
                ready = self.root / f"{name}.ready"
                process = self.start(sys.executable, "-c", self.COUNTER, name, str(ready))
                wait_for(ready.exists, "the command")
                process.send_signal(getattr(signal, name))
                self.assertEqual(process.wait(20), 41)
                process.communicate()

    def test_the_keyboard_interrupts_the_command_once(self):
        ready = self.root / "ready"
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(HOTPROOF, self.words(sys.executable, "-c", self.COUNTER, "SIGINT", str(ready)),
                      self.environment)
        wait_for(ready.exists, "the command")
        os.write(terminal, b"\x03")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 41)
        os.close(terminal)

    def test_the_command_gets_the_callers_signal_mask(self):
        done = self.run_("grep", "SigBlk", "/proc/self/status")
        self.assertEqual(int(done.stdout.split()[1], 16), 0)


class Descendants(RunTest):
    def test_an_orphan_is_waited_for(self):
        done_file = self.root / "done"
        with open(self.root / "stdout", "wb") as stdout:
            process = self.start("sh", "-c", f"(setsid sh -c 'sleep 1; touch {done_file}' &) ; exit 5", stdout=stdout)
            _, stderr = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 5)
        self.assertTrue(done_file.exists())
        self.assertEqual(self.manifest()["alivePids"], [])
        self.assertNotIn(b"still running", stderr)

    # That it is ten seconds: left_behind_test.cc, by a clock of its own.
    def test_those_that_stay_are_listed_when_the_time_is_over(self):
        pid_file = self.root / "pid"
        process = self.start("sh", "-c", f"setsid sleep 600 >/dev/null 2>&1 & echo $! >{pid_file}")
        _, stderr = process.communicate(timeout=120)
        pid = int(pid_file.read_text())
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.manifest()["alivePids"], [pid])
        self.assertIn(f"still running after 10 s: {pid}\n".encode(), stderr)

    def test_a_signal_ends_the_waiting(self):
        pid_file = self.root / "pid"
        process = self.start("sh", "-c", f"setsid sleep 600 >/dev/null 2>&1 & echo $$ $! >{pid_file}")
        wait_for(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"), "the orphan")
        command, pid = map(int, pid_file.read_text().split())
        wait_for(lambda: not os.path.exists(f"/proc/{command}"), "run to have taken the end of the command")
        process.terminate()
        _, stderr = process.communicate(timeout=120)
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(process.returncode, 0)
        # Not "after 10 s": the time was not over.
        self.assertIn(f"still running: {pid}\n".encode(), stderr)

    def test_grandchildren_and_what_they_exec_are_seen(self):
        ready = self.root / "ready"
        process = self.start("sh", "-c", f"sh -c 'echo $$ >{ready}; exec tail -f /dev/null' & wait")
        wait_for(lambda: self.processes("tail"), "the program that took the shell's place")
        inner = int(ready.read_text())
        self.assertEqual(self.command_process("tail")["pid"], inner)
        os.kill(inner, signal.SIGKILL)
        process.communicate()


class Manifest(RunTest):
    def test_says_what_ran(self):
        before = time.time_ns()
        run = self.start("sleep", "600")
        wait_for(lambda: self.processes("sleep"), "the manifest to name the command")
        os.kill(self.command_process("sleep")["pid"], signal.SIGTERM)
        run.communicate(timeout=60)
        manifest = self.manifest()
        self.assertEqual(manifest["command"], ["sleep", "600"])
        self.assertLessEqual(before, int(manifest["startRealtimeNs"]))
        self.assertLess(int(manifest["startRealtimeNs"]), int(manifest["endRealtimeNs"]))
        self.assertLessEqual(int(manifest["endRealtimeNs"]), time.time_ns())
        self.assertEqual(manifest["bootId"], pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        process = self.command_process("sleep")
        self.assertEqual(process["executable"], os.path.realpath("/bin/sleep"))
        self.assertGreater(int(process["startTicks"]), 0)
        self.assertFalse(process["gpu"])

    def test_only_the_user_may_read_it(self):
        os.umask(0)
        self.run_("true")
        self.assertEqual(stat.S_IMODE((self.out / "hotproof-manifest.json").stat().st_mode), 0o600)

    def test_takes_arguments_of_any_bytes(self):
        script = b"\xff\x1b[31m.py"
        done = self.run_("sh", "-c", b"sleep 0.3", script)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertEqual(self.manifest()["command"][-1], "\ufffd\x1b[31m.py")

    def test_holds_no_secret(self):
        self.run_("sh", "-c", "sleep 0.3", "x", "--api-key", "hunter2", "--hf-token=hunter3",
                  "https://user:hunter4@example.org/")
        text = (self.out / "hotproof-manifest.json").read_text()
        self.assertNotIn("hunter", text)
        self.assertIn("--api-key", text)

    def test_a_killed_run_leaves_it_unfinished(self):
        ready = self.root / "ready"
        process = self.start("sh", "-c", f"echo $$ >{ready}; exec sleep 30")
        wait_for(lambda: ready.exists() and ready.read_text(), "the command")
        command = int(ready.read_text())
        wait_for(lambda: self.manifest()["processes"], "the manifest to name the command")
        process.kill()
        process.wait(10)
        os.kill(command, signal.SIGKILL)
        process.communicate()
        manifest = self.manifest()
        self.assertFalse(manifest["finished"])
        self.assertEqual([p["pid"] for p in manifest["processes"]], [command])
        self.assertEqual([f.name for f in self.out.iterdir()], ["hotproof-manifest.json"])


class GpuProcesses(RunTest):
    """With a stand-in for the device file, in a mount namespace of the test's own."""

    SETUP = ("mount -t tmpfs none /dev && { mknod -m 666 /dev/null c 1 3 2>/dev/null || : >/dev/null; } && "
             f': >{UVM} && exec "$@"')
    # A program that starts nothing of its own while it waits: a child's copy of the descriptor would be seen, too.
    PROLOGUE = """
import os, signal, sys, time
def wait_for_manifest(*texts):
    while not all(text in open(sys.argv[1]).read() for text in texts):
        time.sleep(0.01)
"""

    def run_with_device(self, program):
        words = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        if subprocess.run([*words, "sh", "-c", "mount -t tmpfs none /dev"], capture_output=True).returncode:
            self.skipTest("needs the right to mount in a namespace of its own")
        command = self.words(sys.executable, "-c", self.PROLOGUE + program, str(self.out / "hotproof-manifest.json"), UVM)
        done = subprocess.run([*words, "sh", "-c", self.SETUP, "sh", *command], capture_output=True, timeout=60,
                              env=self.environment)
        self.assertEqual(done.returncode, 0, done)
        return done.stderr.decode().splitlines()[-1]

    def test_an_open_device_without_a_trace_is_said(self):
        line = self.run_with_device("""
device = open(sys.argv[2])
wait_for_manifest("uvm fd")
""")
        [process] = self.manifest()["processes"]
        self.assertTrue(process["gpu"])
        self.assertEqual(process["gpuEvidence"], "uvm fd")
        self.assertFalse(process["traced"])
        self.assertIn(f"GPU processes without a trace: {process['pid']}", line)

    def test_a_forked_child_is_none(self):
        self.run_with_device("""
device = open(sys.argv[2])
wait_for_manifest("uvm fd")
child = os.fork()
if child == 0:
    signal.pause()
wait_for_manifest(f'"pid": {child},')
os.kill(child, signal.SIGKILL)
""")
        self.assertEqual([p["gpu"] for p in self.manifest()["processes"]], [True, False])


if __name__ == "__main__":
    unittest.main()
