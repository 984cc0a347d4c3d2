#!/usr/bin/env python3
"""The whole way on a machine without a GPU: run a CUDA program traced, report it, hold it to claims.

Usage: end_to_end_test.py HOTPROOF_PROGRAM LIVE_PROGRAM FAKE_DRIVER_FOLDER FAKE_CUPTI [unittest arguments]
The driver and CUPTI are tests/fake_cuda/'s: they launch nothing, so the program, which counts its kernels
on the device, ends with exit code 1. It asks for 4 launches, then 256 + 1 a replay.
"""
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HOTPROOF, LIVE, DRIVER, CUPTI = (os.path.abspath(sys.argv.pop(1)) for _ in range(4))
PASS, FAIL, BAD_INPUT, INCONCLUSIVE = 0, 1, 2, 3
FORWARDS = 7

# Launches kernels from Python.
LAUNCHER = r'''
import ctypes, os
cuda = ctypes.CDLL("libcuda.so.1")
PTX = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry k_one(.param .u64 counter) { ret; }
"""
device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device)
cuda.cuModuleLoadData(ctypes.byref(module), PTX), cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k_one")
counter = ctypes.c_uint64(0)
arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(counter), ctypes.c_void_p))
def launch(times):
    for _ in range(times):
        assert cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None) == 0
    cuda.cuCtxSynchronize()
'''


def wait_for(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.05)


class EndToEnd(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="hotproof-e2e-")
        self.out = pathlib.Path(self.folder.name, "out")
        self.environment = {**os.environ, "LD_LIBRARY_PATH": DRIVER, "HOTPROOF_CUPTI": CUPTI,
                            "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}

    def tearDown(self):
        self.folder.cleanup()

    def hotproof(self, *words):
        return subprocess.run([HOTPROOF, *map(str, words)], capture_output=True, text=True, timeout=120,
                              env=self.environment)

    def trace(self, *command, options=()):
        return self.hotproof("run", "-o", self.out, *options, "--", *(command or (LIVE, FORWARDS)))

    def verdict(self, *words):
        return self.hotproof("assert", self.out, *words)

    def manifest(self):
        return json.loads((self.out / "hotproof-manifest.json").read_text())

    def until_manifest(self, condition):
        """Lines of a program that goes on when `condition` holds of the manifest's `processes`, or after a minute."""
        return f"""
import json, os, time
def shown():
    processes = json.load(open({str(self.out / "hotproof-manifest.json")!r})).get("processes", ())
    return {condition}
deadline = time.monotonic() + 60
while not shown() and time.monotonic() < deadline: time.sleep(0.02)
"""

    def test_what_ran_is_reported_and_the_program_notices_nothing(self):
        alone = subprocess.run([LIVE, str(FORWARDS)], capture_output=True, text=True, env=self.environment)
        traced = self.trace()
        self.assertEqual(traced.returncode, alone.returncode)
        self.assertEqual(traced.stdout, alone.stdout)
        self.assertEqual(traced.stderr, f"hotproof: 1 trace in {self.out.resolve()}; "
                                        f"next: hotproof report {self.out.resolve()}\n")
        process, = self.manifest()["processes"]
        self.assertEqual((process["gpu"], process["traced"], process["preloaded"]), (True, True, True))

        report = json.loads(self.hotproof("report", self.out, "--format", "json").stdout)
        process, = report["processes"]
        self.assertEqual(process["completeness"]["state"], "COMPLETE", report)
        launches = {kernel["kernel"]: (kernel["launches"], kernel["warmupLaunches"]) for kernel in report["kernels"]}
        self.assertEqual(launches, {"live_gemm_like": (256 * FORWARDS, 4), "live_norm_like": (FORWARDS, 0)})

    def test_the_next_command_can_be_pasted(self):
        self.out = pathlib.Path(self.folder.name, "it's a $HOME")
        command = self.trace().stderr.strip().split("; next: ")[1]
        done = subprocess.run(["bash", "-c", command.replace("hotproof", shlex.quote(HOTPROOF), 1)], capture_output=True, text=True,
                              env=self.environment)
        self.assertEqual(done.returncode, PASS, done)
        self.assertIn("live_gemm_like", done.stdout)

    def test_a_folder_that_was_removed_is_not_named_as_one_to_read(self):
        done = self.trace("sh", "-c", f"{shlex.quote(LIVE)} {FORWARDS}; rm -r {shlex.quote(str(self.out))}")
        self.assertIn(f"{self.out.resolve()} was removed meanwhile", done.stderr)
        self.assertNotIn("next:", done.stderr)

    def test_claims(self):
        self.trace()
        kernel = ("--kernel", "live_gemm_like", "--kind", "any")
        self.assertEqual(self.verdict(*kernel, "--launches", 256 * FORWARDS).returncode, PASS)
        self.assertEqual(self.verdict(*kernel, "--launches", 256 * FORWARDS + 4, "--phase", "all").returncode, PASS)
        self.assertEqual(self.verdict(*kernel, "--max-launches", 0).returncode, FAIL)
        self.assertEqual(self.verdict("--kernel", "custom_gemm", "--min-launches", 1).returncode, FAIL)
        self.assertEqual(self.verdict(*kernel, "--time-share", ">=0.5").returncode, PASS)
        self.assertEqual(self.verdict().returncode, BAD_INPUT)

    def test_counted_only_says_nothing_about_times(self):
        self.trace(options=("--mode", "count"))
        kernel = ("--kernel", "live_gemm_like", "--kind", "any")
        self.assertEqual(self.verdict(*kernel, "--launches", 256 * FORWARDS).returncode, PASS)
        self.assertEqual(self.verdict(*kernel, "--time-share", ">=0.5").returncode, INCONCLUSIVE)

    def test_recorded_operations_are_in_the_report(self):
        self.trace(options=("--record", "operations"))
        report = json.loads(self.hotproof("report", self.out, "--format", "json").stdout)
        self.assertTrue(report["operationsRecorded"])
        counts = {row["operation"]: (row["count"], row["bytes"]) for row in report["operations"]}
        self.assertEqual(counts, {"Stream Sync": (1, 0), "Memset (Device)": (1, 8), "Memcpy DtoH (Device -> Pageable)": (1, 8)})

    def test_files_of_a_program_that_closes_all_descriptors_are_its_own(self):
        for options in ((), ("--rotate-size", "1M"), ("--mode", "count")):
            with self.subTest(options), tempfile.TemporaryDirectory(prefix="hotproof-e2e-") as folder:
                self.out = pathlib.Path(folder, "out")
                done = self.trace(sys.executable, "-c", LAUNCHER + f"""
path, data = {str(pathlib.Path(folder, "data"))!r}, b"USERDATA" * 20000
launch(5)
os.closerange(3, 4096)
with open(path, "wb") as file: file.write(data)
files = [os.open(path, os.O_RDWR) for _ in range(8)]
for fd in range(files[-1] + 1, 900):
    try: os.dup2(files[0], fd)
    except OSError: break
launch(10)
assert open(path, "rb").read() == data, "its file was written to"
""", options=options)
                self.assertEqual(done.returncode, 0, done)
                self.assertNotIn("closed", done.stderr)
                self.assertEqual(pathlib.Path(folder, "data").read_bytes(), b"USERDATA" * 20000)
                self.assertEqual(self.verdict("--kernel", "k_one", "--phase", "all", "--launches", 15).returncode, PASS)

    def test_a_program_without_standard_descriptors_does_not_print_into_the_trace(self):
        program = f"import os; os.closerange(0, 4096); os.execv({LIVE!r}, [{LIVE!r}, '{FORWARDS}'])"
        self.trace(sys.executable, "-c", program)
        kernel = ("--kernel", "live_gemm_like", "--kind", "any")
        done = self.verdict(*kernel, "--launches", 256 * FORWARDS)
        self.assertEqual(done.returncode, PASS, done)

    def test_no_trace_is_no_zero(self):
        self.trace("true")
        self.assertEqual(self.verdict("--kernel", "x", "--max-launches", 0).returncode, INCONCLUSIVE)

    def test_a_process_that_could_not_write_a_trace_leaves_never_open(self):
        """It starts CUDA and stays until the manifest names it."""
        program = """
import ctypes
cuda, device, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
""" + self.until_manifest('any(p["pid"] == os.getpid() and p["gpu"] for p in processes)')
        done = self.trace("env", "HOTPROOF_OUT=/proc/none", sys.executable, "-c", program)
        self.assertIn("the process runs on untraced", done.stderr)
        self.assertIn("GPU processes without a trace: ", done.stderr)
        self.assertIn("no trace could be made", [p["gpuEvidence"] for p in self.manifest()["processes"]])
        self.assertEqual(self.verdict("--kernel", "custom_gemm", "--max-launches", 0).returncode, INCONCLUSIVE)

    def test_a_process_in_a_pid_namespace_of_its_own_is_known_by_its_trace(self):
        """It calls itself 1, and `run` sees it under another number. Two may call themselves the same."""
        words = ["unshare", "-pf"] if os.geteuid() == 0 else ["unshare", "-rpf"]
        if subprocess.run([*words, "true"], capture_output=True).returncode:
            self.skipTest("needs the right to make a pid namespace")
        both_seen = self.until_manifest('sum(p["gpu"] and p.get("namespacePid") == 1 for p in processes) == 2')
        namespaced = shlex.join([*words, sys.executable, "-c", LAUNCHER + "launch(5)" + both_seen])
        done = self.trace("sh", "-c", f"{namespaced} & {namespaced} & wait")
        self.assertIn("2 traces in", done.stderr)
        self.assertNotIn("without a trace", done.stderr)
        gpu = [p for p in self.manifest()["processes"] if p["gpu"]]
        self.assertEqual([(p["traced"], p["namespacePid"]) for p in gpu], [(True, 1)] * 2, self.manifest())
        self.assertNotIn(1, [p["pid"] for p in gpu])
        self.assertEqual(self.verdict("--kernel", "k_one", "--phase", "all", "--launches", 5).returncode, PASS)
        for path in self.out.iterdir():
            if path.suffix == ".hpt":
                path.unlink()
                break
        self.assertEqual(self.verdict("--kernel", "k_one", "--phase", "all", "--launches", 5).returncode, INCONCLUSIVE)

    def test_a_copy_made_while_it_ran_shows_no_more_than_what_ran_so_far(self):
        go, first = (pathlib.Path(self.folder.name, name) for name in ("go", "first"))
        run = subprocess.Popen([HOTPROOF, "run", "-o", self.out, "--", sys.executable, "-c", LAUNCHER + f"""
import pathlib, signal, time
launch(5)
pathlib.Path({str(first)!r}).touch()
while not os.path.exists({str(go)!r}): time.sleep(0.02)
launch(2)
os.kill(os.getpid(), signal.SIGKILL)
"""], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            so_far = ("--kernel", "k_one", "--kind", "any", "--phase", "all", "--min-launches", 5, "--processes", "any")
            wait_for(lambda: run.poll() is not None or (first.exists() and self.verdict(*so_far).returncode == PASS),
                     "its first launches to be in the file")
            copies = [pathlib.Path(self.folder.name, name) for name in ("copy", "without manifest")]
            for copy in copies:
                shutil.copytree(self.out, copy)
            (copies[1] / "hotproof-manifest.json").unlink()
        finally:
            go.touch()
            run.wait(timeout=60)
        select = ("--kernel", "k_one", "--kind", "any", "--phase", "all")
        for folder in copies:
            with self.subTest(folder.name):
                never = ("assert", folder, "--kernel", "absent", "--phase", "all", "--max-launches", 0)
                self.assertEqual(self.hotproof(*never).returncode, INCONCLUSIVE)
                self.assertEqual(self.hotproof("assert", folder, *select, "--launches", 5).returncode, INCONCLUSIVE)
                self.assertEqual(self.hotproof("assert", folder, *select, "--launches", 5, "--processes", "sum").returncode,
                                 INCONCLUSIVE)
                self.assertEqual(self.hotproof("assert", folder, *so_far).returncode, PASS)
        self.assertEqual(self.verdict(*select, "--launches", 7).returncode, PASS)
        (self.out / "hotproof-manifest.json").unlink()
        self.assertEqual(self.verdict(*select, "--launches", 7).returncode, PASS)  # where it was written
        shutil.copytree(self.out, self.out / "later")
        self.assertEqual(self.hotproof("assert", self.out / "later", *select, "--launches", 7).returncode, INCONCLUSIVE)

    def test_a_process_that_is_no_descendant_and_runs_on_has_not_ended(self):
        go, first, end = (pathlib.Path(self.folder.name, name) for name in ("go", "first", "end"))
        wait = "while [ ! -e {} ]; do sleep 0.02; done"
        listed = self.hotproof("run", "-o", self.folder.name + "/environment", "--", "env", "-0").stdout
        traced = dict(line.split("=", 1) for line in listed.split("\0") if "=" in line)
        run = subprocess.Popen([HOTPROOF, "run", "-o", self.out, "--", "sh", "-c", wait.format(go)],
                               env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (self.out / "hotproof-manifest.json").exists() and run.poll() is None:
            time.sleep(0.02)
        stranger = subprocess.Popen([sys.executable, "-c", LAUNCHER + f"""
import pathlib, time
launch(5)
pathlib.Path({str(first)!r}).touch()
while not os.path.exists({str(end)!r}): time.sleep(0.02)
"""], env={**traced, "HOTPROOF_OUT": str(self.out)})
        try:
            while not first.exists() and stranger.poll() is None:
                time.sleep(0.02)
            go.touch()
            run.wait(timeout=60)
            self.assertIn(stranger.pid, self.manifest()["alivePids"])
            copy = pathlib.Path(self.folder.name, "copy")
            shutil.copytree(self.out, copy)
        finally:
            end.touch()
            stranger.wait(timeout=60)
        never = ("--kernel", "absent", "--phase", "all", "--max-launches", 0)
        self.assertEqual(self.hotproof("assert", copy, *never).returncode, INCONCLUSIVE)

    def test_a_gpu_process_without_a_trace_leaves_never_open(self):
        words = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        if subprocess.run([*words, "sh", "-c", "mount -t tmpfs none /dev"], capture_output=True).returncode:
            self.skipTest("needs the right to mount in a namespace of its own")
        untraced = "uvm = open('/dev/nvidia-uvm')" + self.until_manifest(
            'any(p["pid"] == os.getpid() and p["gpu"] for p in processes)')
        script = (f"{shlex.quote(LIVE)} {FORWARDS} >/dev/null; "
                  "env -u LD_PRELOAD -u CUDA_INJECTION64_PATH " + shlex.join([sys.executable, "-c", untraced]))
        done = subprocess.run(
            [*words, "sh", "-c", 'mount -t tmpfs none /dev && : >/dev/null && : >/dev/nvidia-uvm && exec "$@"', "sh",
             HOTPROOF, "run", "-o", self.out, "--", "sh", "-c", script],
            capture_output=True, text=True, timeout=120, env=self.environment)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("GPU processes without a trace: ", done.stderr)
        self.assertEqual(self.verdict("--kernel", "custom_gemm", "--max-launches", 0).returncode, INCONCLUSIVE)
        self.assertEqual(self.verdict("--kernel", "live_gemm_like", "--kind", "any", "--min-launches", 256,
                                      "--processes", "sum").returncode, PASS)


if __name__ == "__main__":
    unittest.main()
