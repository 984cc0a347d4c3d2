"""What verdicts make of the evidence: of traces that lack a part, of copies, of what the manifest says and who still runs."""
import fcntl
import glob
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from cli_case import CliCase, EXAMPLES, FAIL, INCONCLUSIVE, MANIFEST, PASS, SECOND, SERVER, UNTRACED


class EvidenceTest(CliCase):
    def test_a_process_that_run_could_not_look_into_may_have_launched_anything(self):
        traces = self.write(SERVER + UNTRACED.replace("gpu: true } }", "gpu_unknown: true } }"))
        self.assertIn("descriptors hotproof run may not read",
                      self.check(INCONCLUSIVE, "assert", traces, "--kernel", "absent", "--max-launches", "0").stdout)
        self.assertIn("not_looked_into", self.check(0, "report", traces).stdout)

    def test_assert_holds_a_folder_and_its_files_to_the_manifest(self):
        traces = self.write(SERVER + UNTRACED)
        never = "--kernel", "absent", "--max-launches", "0"
        self.check(INCONCLUSIVE, "assert", traces, *never)
        trace = os.path.join(traces, "trace-812.hpt")
        self.assertIn("pid 900", self.check(INCONCLUSIVE, "assert", trace, *never).stdout)
        elsewhere = shutil.copy(trace, tempfile.mkdtemp(dir=self.folder))
        shutil.copy(trace.replace(".hpt", ".hpc"), os.path.dirname(elsewhere))
        self.assertIn("coverage not checked", self.check(PASS, "assert", elsewhere, *never).stdout)

    def test_two_runs_in_one_folder_are_told(self):
        """As a service leaves them that is started anew with the same HOTPROOF_OUT."""
        def life(begin_s, end_s):
            return [f"start_realtime_ns: {begin_s}000000000 ", f"footer {{ realtime_ns: {end_s}000000000 }} "]
        def write(first, second, manifest=""):
            runs = []
            for run, pid, (header, footer) in (SERVER, 812, first), (SECOND, 813, second):
                runs.append(run.replace(f"pid: {pid} ", f"pid: {pid} {header}").replace("trace {", "trace { " + footer))
            return self.write("".join(runs) + manifest)
        expected = "--kernel", "second_kernel", "--min-launches", "3", "--processes", "any", "--phase", "all"
        after = life(100, 200), life(230, 300)
        told = "pid 813: it began 30 s after the last that is seen of pid 812: if these are two runs"
        self.assertIn(told, self.check(PASS, "assert", write(*after), *expected).stdout)
        self.assertIn("runs_added  pid 813", self.check(PASS, "report", write(*after)).stdout)
        beside = write(life(100, 200), life(150, 300))
        self.assertNotIn("it began", self.check(PASS, "assert", beside, *expected).stdout)
        under_run = write(*after, "manifest { finished: true processes { pid: 812 gpu: true } processes { pid: 813 gpu: true } }")
        self.assertNotIn("it began", self.check(PASS, "assert", under_run, *expected).stdout)

    def test_a_run_without_a_trace_is_not_to_be_run_again_as_it_was(self):
        never = "--kernel", "absent", "--max-launches", "0"
        no_gpu = self.write("manifest { finished: true processes { pid: 7 } }")
        self.assertIn("it was run under hotproof run", self.check(INCONCLUSIVE, "assert", no_gpu, *never).stdout)
        empty = tempfile.mkdtemp(dir=self.folder)
        self.assertIn("run the program under hotproof run", self.check(INCONCLUSIVE, "assert", empty, *never).stdout)

    def test_a_trace_without_a_header_covers_no_process(self):
        traces = self.write(SERVER + UNTRACED)
        open(os.path.join(traces, "host-900-0a1b2c3d.hpt"), "w").close()
        report = self.check(PASS, "report", traces).stdout
        self.assertIn("coverage PARTIAL", report)
        self.assertNotIn("coverage FULL", report)
        never = "--kernel", "absent", "--max-launches", "0", "--phase", "all"
        self.check(INCONCLUSIVE, "assert", traces, *never)

    def test_a_folder_without_a_trace_is_a_part_of_the_run_that_was_not_seen(self):
        traces, empty = self.write(SERVER + MANIFEST), tempfile.mkdtemp(dir=self.folder)
        no_gpu = self.write("manifest { finished: true processes { pid: 7 } }")
        never = "--kernel", "absent", "--max-launches", "0", "--phase", "all"
        self.check(PASS, "assert", traces, *never)
        for folder in empty, no_gpu:
            for which in "every", "sum":
                text = self.check(INCONCLUSIVE, "assert", traces, folder, *never, "--processes", which).stdout
                self.assertIn(f"no trace (.hpt) of {folder}", text)
            self.check(PASS, "assert", traces, folder, "--path", "flashinfer", "--min-launches", "1", "--processes", "any")
            report = self.check(PASS, "report", traces, folder).stdout
            self.assertIn(f"no trace (.hpt) of {folder}", report)
            self.assertIn("PARTIAL", report)

    def test_what_a_process_that_still_runs_has_not_done_is_not_known(self):
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot_id = file.read().strip()
        process = subprocess.Popen(["sleep", "1000"])
        try:
            with open(f"/proc/{process.pid}/stat") as file:
                start_ticks = file.read().rsplit(")", 1)[1].split()[19]
            header = f'pid: {process.pid} process_start_ticks: {start_ticks} boot_id: "{boot_id}" '
            traces = self.write(SERVER.replace("pid: 812 ", header).replace("trace {", "trace { no_footer: true", 1))
            expected = "--path", "flashinfer"
            self.check(PASS, "assert", traces, *expected, "--min-launches", "256")
            running = self.check(INCONCLUSIVE, "assert", traces, *expected, "--launches", "256").stdout
            self.assertIn("still running", running)
            self.check(INCONCLUSIVE, "assert", traces, "--kernel", "absent", "--max-launches", "0")
            self.check(INCONCLUSIVE, "assert", traces, *expected, "--min-launches", "257")
        finally:
            process.kill()
            process.wait()
        self.check(PASS, "assert", traces, *expected, "--launches", "256")
        self.check(FAIL, "assert", traces, *expected, "--min-launches", "257")

    def test_a_trace_that_somebody_writes_is_of_a_process_that_runs(self):
        """In a container its pid is another one, or none."""
        traces = self.write(self.killed())
        never = "--kernel", "absent", "--max-launches", "0"
        self.check(PASS, "assert", traces, *never)
        trace, = glob.glob(traces + "/*.hpt")
        with open(trace, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_SH)  # another reader
            self.check(PASS, "assert", traces, *never)
            fcntl.flock(file, fcntl.LOCK_EX)
            self.assertIn("still running", self.check(INCONCLUSIVE, "assert", traces, *never).stdout)
            self.check(PASS, "assert", traces, "--path", "flashinfer", "--min-launches", "256")
        self.check(PASS, "assert", traces, *never)

    def test_a_trace_that_the_manifest_does_not_list_shows_that_it_is_not_the_whole(self):
        traces = self.write(SERVER + SECOND + MANIFEST)
        report = json.loads(self.check(0, "report", traces, "--format", "json").stdout)
        self.assertEqual({process["coverage"] for process in report["processes"]}, {"PARTIAL"})
        self.assertIn(("not_in_manifest", 813), [(problem["name"], problem["pid"]) for problem in report["problems"]])
        for processes, least, most in (("every", INCONCLUSIVE, INCONCLUSIVE), ("sum", PASS, INCONCLUSIVE),
                                       ("any", PASS, PASS)):
            with self.subTest(processes):
                flags = "assert", traces, "--processes", processes, "--phase", "all", "--kernel"
                self.check(least, *flags, "fp8|second", "--min-launches", "3")
                self.check(most, *flags, "absent", "--max-launches", "0")
        self.check(INCONCLUSIVE, "assert", traces, "--expect-processes", "2")
        alone = [os.path.join(traces, name) for name in os.listdir(traces) if name == "trace-812.hpt"]
        self.check(PASS, "assert", *alone, "--path", "flashinfer", "--launches", "256")

    def test_a_folder_without_a_manifest_beside_one_with_it_is_not_checked(self):
        report = json.loads(self.check(0, "report", self.write(SERVER + MANIFEST), self.write(SECOND),
                                       "--format", "json").stdout)
        self.assertEqual({process["coverage"] for process in report["processes"]}, {"NOT_CHECKED"})

    def killed(self, boot_id=None):
        """A server that was killed on this machine."""
        with open("/proc/sys/kernel/random/boot_id") as file:
            header = f'header {{ boot_id: "{boot_id or file.read().strip()}"'
        return SERVER.replace("header {", header, 1).replace("trace {", "trace { no_footer: true", 1)

    def test_a_copy_of_a_trace_without_an_end_is_a_lower_bound_unless_run_saw_the_end(self):
        """It may be of any moment while the process ran."""
        never = "--kernel", "absent", "--max-launches", "0"
        exactly = "--path", "flashinfer", "--launches", "256"
        least = "--path", "flashinfer", "--min-launches", "256"
        ended, running = MANIFEST, MANIFEST.replace("finished: true", "finished: true alive_pids: 812")
        for run, moved, verdict in ((self.killed(), False, PASS), (self.killed("another"), False, INCONCLUSIVE),
                                    (self.killed(), True, INCONCLUSIVE), (self.killed() + ended, True, PASS),
                                    (self.killed() + running, True, INCONCLUSIVE),
                                    (self.killed() + ended.replace("true", "false", 1), True, INCONCLUSIVE),
                                    (self.killed() + ended.replace("812", "811"), True, INCONCLUSIVE),
                                    (SERVER, True, PASS)):
            traces = self.write(run)
            if moved:
                copy = os.path.join(tempfile.mkdtemp(dir=self.folder), "copy")
                shutil.copytree(traces, copy)  # as cp -a: the same times
                traces = copy
            with self.subTest(run=run, moved=moved):
                self.check(verdict, "assert", traces, *never)
                self.check(verdict, "assert", traces, *exactly)
                self.check(verdict, "assert", traces, *exactly, "--processes", "sum")
                self.check(PASS, "assert", traces, *least, "--processes", "any")
                self.check(FAIL, "assert", traces, "--path", "flashinfer", "--max-launches", "255")
                if run == self.killed() and moved:
                    self.assertIn("end_not_seen", self.check(0, "report", traces).stdout)

    def test_the_files_of_a_cut_off_recording_are_judged_as_its_folder(self):
        example = os.path.join(EXAMPLES, "vllm-0.25.1-deepgemm-m8-cut-off")
        never = "--kernel", "absent", "--max-launches", "0", "--phase", "all"
        self.check(INCONCLUSIVE, "assert", example, *never)
        self.check(INCONCLUSIVE, "assert", *glob.glob(example + "/*.hpt"), *never)

    def test_assert_decides_counts_of_a_torn_trace_by_its_counters(self):
        traces = self.write(SERVER)
        trace = os.path.join(traces, "trace-812.hpt")
        os.truncate(trace, os.path.getsize(trace) - 20)
        self.check(PASS, "assert", traces, "--path", "flashinfer", "--launches", "256")
        self.check(FAIL, "assert", traces, "--path", "flashinfer", "--launches", "255")
        self.check(INCONCLUSIVE, "assert", traces, "--path", "flashinfer", "--time-share", ">=0.5")
        os.remove(os.path.join(traces, "trace-812.hpc"))
        self.check(INCONCLUSIVE, "assert", traces, "--path", "flashinfer", "--launches", "256")

    def test_assert_does_not_believe_damaged_counters(self):
        traces = self.write(SERVER)
        flags = "assert", traces, "--path", "flashinfer", "--launches", "256"
        self.check(PASS, *flags)
        counters = os.path.join(traces, "trace-812.hpc")
        with open(counters, "rb") as file:
            whole = file.read()
        for at in range(4096, len(whole), 5):
            with open(counters, "wb") as file:
                file.write(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
            out = self.check(INCONCLUSIVE, *flags).stdout
            self.assertIn("LOWER BOUND: the counters cannot be used: " + counters + ": damaged", out)
            self.assertNotIn("counter file is missing", out)

    def test_counts_beyond_a_whole_trace_in_a_file_without_checks_are_not_believed(self):
        traces = os.path.join(self.folder, "old")
        shutil.copytree(os.path.join(EXAMPLES, "torch-gemms-m8"), traces)
        flags = "assert", traces, "--path", "cublaslt"
        self.check(PASS, *flags, "--launches", "5144")
        [counters] = glob.glob(os.path.join(traces, "*.hpc"))
        with open(counters, "rb") as file:
            whole = file.read()
        begin, sites, graphs = struct.unpack_from("<III", whole, 8)
        used = [at for at in range(begin, begin + 8 * (sites + graphs), 8) if any(whole[at:at + 8])]
        self.assertGreater(len(used), 20)
        for at in used[::4]:
            with open(counters, "wb") as file:
                file.write(whole[:at + 1] + bytes([whole[at + 1] | 64]) + whole[at + 2:])
            out = self.check(INCONCLUSIVE, *flags, "--launches", "5144").stdout
            self.assertIn("counts more than the trace, which is whole", out)
            self.check(INCONCLUSIVE, *flags, "--min-launches", "5145")

    def test_a_trace_that_run_saw_and_is_gone_is_to_be_put_back(self):
        traces = os.path.join(self.folder, "gone")
        shutil.copytree(os.path.join(EXAMPLES, "torch-gemms-m8"), traces)
        [trace] = glob.glob(os.path.join(traces, "*.hpt"))
        flags = "assert", traces, "--kernel", "absent", "--max-launches", "0"
        with open(trace, "rb+") as file:
            file.truncate(1000)
        out = self.check(INCONCLUSIVE, *flags).stdout
        self.assertNotIn("has not ended", out)
        os.remove(trace)
        out = self.check(INCONCLUSIVE, *flags).stdout
        self.assertIn("put its .hpt and .hpc back", out)
        self.assertNotIn("doctor", out)

    def test_any_process_may_be_the_one_that_was_not_seen(self):
        self.check(INCONCLUSIVE, "assert", self.write(SERVER + UNTRACED), "--path", "flashinfer",
                   "--processes", "any", "--max-launches", "5")
        self.check(FAIL, "assert", self.write(SERVER + MANIFEST), "--path", "flashinfer",
                   "--processes", "any", "--max-launches", "5")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
