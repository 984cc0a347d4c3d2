"""report and assert as a user runs them: exit codes, streams, formats, on files written for the test.

Usage: cli_test.py HOTPROOF WRITE_FAKE_RUN
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

HOTPROOF, WRITE_FAKE_RUN = sys.argv[1], sys.argv[2]
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")

GEMM = ("void deep_gemm::fp8_gemm_kernel_swapAB<34816u, 5120u, 128u, 16u, 128u, 1u, 8u, 128u, 128u, 1u, "
        "deep_gemm::NormalSchedulerSwapAB<34816u, 128u, 16u, 1u, 1u, 272u, 16u>, "
        "deep_gemm::NormalSchedulerInputSwapAB>(__nv_bfloat16*, float*, "
        "deep_gemm::NormalSchedulerInputSwapAB, CUtensorMap_st, CUtensorMap_st, CUtensorMap_st, "
        "CUtensorMap_st)")
SERVER = """
trace {
  header { pid: 812 executable: "/usr/bin/python3" }
  kernel { id: 1 name: "%s" }
  kernel { id: 2 name: "my_fp8_splitk_kernel" }
  site { id: 1 kernel_id: 1 grid_x: 132 block_x: 384 captured: true } site { id: 2 kernel_id: 2 }
  graph { id: 1 node_site: 1 node_site: 1 }
  step { launch { site: 2 times: 2 } }
  step { snapshot { reason: SNAPSHOT_REASON_END_CAPTURE } }
  step { snapshot { reason: SNAPSHOT_REASON_FIRST_REPLAY graph_id: 1 } }
  step { launch { graph: 1 times: 100 } } step { end_chunk: true }
  step { launch { graph: 1 times: 28 } }
}
""" % GEMM
SECOND = """
trace {
  header { pid: 813 } kernel { id: 1 name: "second_kernel" } site { id: 1 kernel_id: 1 }
  step { launch { site: 1 times: 3 } }
}
"""
MANIFEST = 'manifest { finished: true processes { pid: 812 gpu: true traced: true } }'
UNTRACED = ('manifest { finished: true processes { pid: 812 gpu: true traced: true } '
            'processes { pid: 900 executable: "/opt/worker" gpu: true } }')
PASS, FAIL, BAD, INCONCLUSIVE = 0, 1, 2, 3


class CliTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, run):
        source = os.path.join(self.folder, "run.textproto")
        with open(source, "w") as file:
            file.write(run)
        traces = tempfile.mkdtemp(dir=self.folder)
        subprocess.run([WRITE_FAKE_RUN, source, traces], check=True)
        return traces

    def run_hotproof(self, *arguments, **environment):
        return subprocess.run([HOTPROOF, *arguments], capture_output=True, text=True, timeout=60,
                              env={**os.environ, **environment})

    def check(self, code, *arguments):
        result = self.run_hotproof(*arguments)
        self.assertEqual(result.returncode, code, f"{arguments}\n{result.stdout}{result.stderr}")
        return result

    def check_error(self, code, text, *arguments):
        """One line on stderr that says what is wrong, nothing on stdout."""
        result = self.check(code, *arguments)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("hotproof: "), result.stderr)
        self.assertIn(text, result.stderr)

    # ---- report

    def test_report_json_has_the_agreed_fields(self):
        report = json.loads(self.check(0, "report", self.write(SERVER + MANIFEST), "--format", "json").stdout)
        process = report["processes"][0]
        self.assertEqual(process["pid"], 812)
        self.assertEqual(process["coverage"], "FULL")
        completeness = process["completeness"]
        self.assertEqual(completeness["state"], "COMPLETE")
        self.assertEqual(completeness["reasons"], [])
        for field, value in {"expected": 258, "recorded": 258, "lost": 0, "untimed": 0}.items():
            self.assertEqual(completeness[field], value)
        row = report["gemms"][0]
        self.assertEqual((row["n"], row["k"]), (34816, 5120))
        self.assertNotIn("m", row)
        self.assertEqual(row["launches"], 256)
        self.assertEqual(row["warmupLaunches"], 0)
        self.assertEqual(row["launchesPerReplay"], 2)
        self.assertEqual(row["timeNs"], 256000)
        self.assertEqual(row["exclusiveTimeNs"], 256000)
        self.assertEqual(row["share"], 1)
        self.assertEqual(row["path"], "flashinfer")
        self.assertEqual(row["provenance"], "name")
        self.assertEqual((row["aDtype"], row["bDtype"], row["scaling"]), ("e4m3", "e4m3", "block"))
        self.assertIn("fp8_gemm_kernel_swapAB", row["kernel"])
        for field in "kernels", "kinds", "problems":
            self.assertIsInstance(report[field], list)

    def test_report_phase_all_counts_warmup_too(self):
        traces = self.write(SERVER)
        report = json.loads(self.check(0, "report", traces, "--phase", "all", "--format", "json").stdout)
        self.assertEqual(sum(kernel["launches"] for kernel in report["kernels"]), 258)

    def test_report_table_is_plain_text_without_a_terminal(self):
        text = self.check(0, "report", self.write(SERVER)).stdout
        self.assertNotIn("\033", text)
        self.assertIn("COMPLETE: all 258 kernel launches were recorded", text)
        self.assertIn("coverage NOT CHECKED", text)
        narrow = self.run_hotproof("report", self.write(SERVER), COLUMNS="60").stdout
        self.assertLessEqual(max(len(line) for line in narrow.splitlines()), 60)

    def test_report_names_a_gpu_process_without_a_trace(self):
        report = json.loads(self.check(0, "report", self.write(SERVER + UNTRACED), "--format", "json").stdout)
        self.assertEqual([(p["pid"], p["coverage"]) for p in report["processes"]],
                         [(812, "PARTIAL"), (900, "MISSING")])
        self.assertEqual(report["processes"][1]["completeness"]["state"], "NOT_COLLECTED")

    def test_report_without_traces_is_no_report(self):
        self.check_error(INCONCLUSIVE, "no trace", "report", tempfile.mkdtemp(dir=self.folder))

    # ---- assert

    def test_assert_pass_fail_inconclusive(self):
        traces = self.write(SERVER + MANIFEST)
        self.check(PASS, "assert", traces, "--path", "flashinfer", "--shape", "34816x5120", "--launches", "256")
        failed = self.check(FAIL, "assert", traces, "--kernel", "my_fp8_splitk", "--launches", "256").stdout
        self.assertIn("expected exactly 256, got 0", failed)
        self.assertIn("0 steady / 2 warm-up / 0 captured", failed)
        self.assertIn("my_fp8_splitk_kernel", failed)
        self.check(INCONCLUSIVE, "assert", self.write(SERVER + UNTRACED),
                   "--kernel", "absent", "--max-launches", "0")

    def test_assert_holds_a_folder_and_its_files_to_the_manifest(self):
        traces = self.write(SERVER + UNTRACED)
        never = "--kernel", "absent", "--max-launches", "0"
        self.check(INCONCLUSIVE, "assert", traces, *never)
        trace = os.path.join(traces, "trace-812.hpt")
        self.assertIn("pid 900", self.check(INCONCLUSIVE, "assert", trace, *never).stdout)
        elsewhere = shutil.copy(trace, tempfile.mkdtemp(dir=self.folder))
        shutil.copy(trace.replace(".hpt", ".hpc"), os.path.dirname(elsewhere))
        self.assertIn("coverage not checked", self.check(PASS, "assert", elsewhere, *never).stdout)

    def test_the_files_of_a_cut_off_recording_are_judged_as_its_folder(self):
        example = os.path.join(EXAMPLES, "vllm-0.25.1-deepgemm-m8-cut-off")
        never = "--kernel", "absent", "--max-launches", "0", "--phase", "all"
        self.check(INCONCLUSIVE, "assert", example, *never)
        self.check(INCONCLUSIVE, "assert", *glob.glob(example + "/*.hpt"), *never)

    def test_a_trace_that_was_not_named_is_not_judged_and_said_to_be_so(self):
        traces = self.write(SERVER + SECOND + 'manifest { finished: true processes { pid: 812 gpu: true } '
                            'processes { pid: 813 gpu: true executable: "/opt/worker" } }')
        never = "--kernel", "second_kernel", "--max-launches", "0", "--phase", "all", "--processes", "sum"
        self.check(FAIL, "assert", traces, *never)
        trace = os.path.join(traces, "trace-812.hpt")
        self.assertIn("pid 813 not judged, for its trace was not named: worker",
                      self.check(PASS, "assert", trace, *never).stdout)
        report = json.loads(self.check(0, "report", trace, "--format", "json").stdout)
        self.assertEqual([(p["name"], p["pid"]) for p in report["problems"] if p["name"] == "not_named"],
                         [("not_named", 813)])
        os.remove(os.path.join(traces, "trace-813.hpt"))
        self.check(INCONCLUSIVE, "assert", trace, *never)

    def test_a_counter_file_without_its_trace_is_a_process_that_was_not_seen(self):
        never = "--kernel", "absent", "--max-launches", "0", "--phase", "all"
        traces = self.write(SERVER + SECOND)
        self.check(PASS, "assert", traces, *never)
        os.remove(os.path.join(traces, "trace-813.hpt"))
        self.assertIn("pid 813", self.check(INCONCLUSIVE, "assert", traces, *never).stdout)
        report = json.loads(self.check(0, "report", traces, "--format", "json").stdout)
        self.assertEqual([(p["pid"], p["coverage"]) for p in report["processes"]],
                         [(812, "PARTIAL"), (813, "MISSING")])
        [problem] = [p for p in report["problems"] if p["name"] == "no_trace"]
        self.assertIn("trace-813.hpc", problem["detail"])

    def test_rules_of_the_users_own(self):
        example = os.path.join(EXAMPLES, "vllm-0.25.1-deepgemm-m8")
        rules = os.path.join(self.folder, "rules.textproto")
        with open(rules, "w") as file:
            file.write('rule { id: "mine" name: "deep_gemm::{* gemm *}" path: "custom" kind: "gemm" }')
        def paths(*more):
            report = json.loads(self.check(0, "report", example, "--format", "json", *more).stdout)
            return {row["path"] for row in report["gemms"] if "deep_gemm::" in row["kernel"]}
        self.assertEqual(paths(), {"deep_gemm"})
        self.assertEqual(paths("--rules", rules), {"custom"})
        expected = "--path", "custom", "--min-launches", "1000", "--phase", "all", "--processes", "any"
        self.check(FAIL, "assert", example, *expected)
        self.check(PASS, "assert", example, *expected, "--rules", rules)
        with open(rules, "w") as file:
            file.write("rule { nonsense: 1 }")
        for command in (("report", example), ("assert", example, *expected)):
            self.check_error(BAD, "rules.textproto", *command, "--rules", rules)

    def test_assert_decides_counts_of_a_torn_trace_by_its_counters(self):
        traces = self.write(SERVER)
        trace = os.path.join(traces, "trace-812.hpt")
        os.truncate(trace, os.path.getsize(trace) - 20)
        self.check(PASS, "assert", traces, "--path", "flashinfer", "--launches", "256")
        self.check(FAIL, "assert", traces, "--path", "flashinfer", "--launches", "255")
        self.check(INCONCLUSIVE, "assert", traces, "--path", "flashinfer", "--time-share", ">=0.5")
        os.remove(os.path.join(traces, "trace-812.hpc"))
        self.check(INCONCLUSIVE, "assert", traces, "--path", "flashinfer", "--launches", "256")

    def test_assert_expect_file(self):
        traces = self.write(SERVER)
        good = os.path.join(self.folder, "good.textproto")
        with open(good, "w") as file:
            file.write('expect { path: "flashinfer" launches: 256 }\nexpect { path: "triton" max_launches: 0 }\n')
        self.assertIn("2 checks", self.check(PASS, "assert", traces, "--expect", good).stdout)
        self.check(FAIL, "assert", traces, "--expect", good, "--kernel", "absent", "--min-launches", "1")
        for text, complaint in (('expect { path: "flashinfer" launch: 256 }', "line 1, column 35"),
                                ('expect { path: "flashinfer" }', "nothing is expected"),
                                ("", "empty")):
            bad = os.path.join(self.folder, "bad.textproto")
            with open(bad, "w") as file:
                file.write(text)
            self.check_error(BAD, complaint, "assert", traces, "--expect", bad)

    def test_assert_nothing_traced_is_never_a_pass(self):
        never = "--kernel", "absent", "--max-launches", "0", "--phase", "all"
        self.check(INCONCLUSIVE, "assert", tempfile.mkdtemp(dir=self.folder), *never)
        self.check(INCONCLUSIVE, "assert", self.write("trace { }"), *never)
        self.check(INCONCLUSIVE, "assert",
                   self.write('trace { problem { kind: PROBLEM_OTHER_SUBSCRIBER } }'), *never)

    def test_assert_formats(self):
        traces = self.write(SERVER)
        fail = "--kernel", "my_fp8<&>", "--launches", "256"
        junit = os.path.join(self.folder, "junit.xml")
        result = self.check(FAIL, "assert", traces, *fail, "--format", "json", "--junit", junit)
        report = json.loads(result.stdout)
        self.assertEqual(report["verdict"], "FAIL")
        self.assertEqual(report["checks"][0]["expected"], "exactly 256")
        case, suite = self.junit_case(junit, tests=1, failures=1, errors=0)
        self.assertIn("my_fp8<&>", case.get("name"))
        self.assertIn("expected exactly 256, got 0", case.find("failure").get("message"))
        self.assertNotIn("\n", case.find("failure").get("message"))
        self.assertIn("FAIL: 1 check", suite.find("system-out").text)
        self.check(INCONCLUSIVE, "assert", self.write(SERVER + UNTRACED), "--kernel", "absent", "--max-launches", "0",
                   "--path", "flashinfer", "--junit", junit)
        _, suite = self.junit_case(junit, tests=1, failures=0, errors=1)
        [error] = suite.iter("error")
        self.assertEqual(error.get("type"), "INCONCLUSIVE")
        github = self.check(FAIL, "assert", traces, *fail, "--format", "github").stdout
        self.assertTrue(github.startswith("::error title=hotproof FAIL::"), github)

    def junit_case(self, path, **counts):
        """The first test case and its suite; the document says how many there are of everything."""
        suites = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual(suites.tag, "testsuites")
        [suite] = suites
        self.assertEqual(suite.attrib, suites.attrib)
        self.assertEqual({name: int(suite.get(name)) for name in counts}, counts)
        self.assertEqual(len(suite.findall("testcase")), counts["tests"])
        for timed in (suite, *suite.findall("testcase")):
            self.assertGreaterEqual(float(timed.get("time")), 0)
        return suite.find("testcase"), suite

    def test_bad_input_replaces_an_earlier_junit_file(self):
        junit = os.path.join(self.folder, "junit.xml")
        flags = "--kernel", "my_fp8", "--min-launches", "1", "--phase", "all", "--junit", junit
        self.check(PASS, "assert", self.write(SERVER), *flags)
        self.check_error(BAD, "no such file", "assert", "/nowhere", *flags)
        case, _ = self.junit_case(junit, tests=1, failures=0, errors=1)
        self.assertIn("/nowhere", case.find("error").get("message"))

    def test_a_report_of_nothing_says_so_in_its_json(self):
        result = self.check(INCONCLUSIVE, "report", tempfile.mkdtemp(dir=self.folder), "--format", "json")
        self.assertEqual([p["name"] for p in json.loads(result.stdout)["problems"]], ["no_trace"])
        self.assertIn("no trace (.hpt) found", result.stderr)

    def test_notes_of_one_kind_are_one(self):
        overflows = " ".join('problem { kind: PROBLEM_ARGUMENT_SETS_OVERFLOWED count: 2 detail: "_Z5copy%dv" }' % i
                             for i in range(5))
        report = json.loads(self.check(0, "report", self.write("trace { header { pid: 1 } kernel { id: 1 name: \"k\" } "
                                                               "site { id: 1 kernel_id: 1 } step { launch { site: 1 } } "
                                                               + overflows + "}"), "--format", "json").stdout)
        [problem] = [p for p in report["problems"] if p["name"] == "argument_sets_overflowed"]
        self.assertEqual(problem["count"], 10)
        self.assertTrue(problem["detail"].endswith("copy0 and 4 more"), problem)

    def test_a_note_is_one_line_whatever_the_names(self):
        name = "_Z" + "".join("4copyI" for _ in range(40)) + "i" + "E" * 40 + "vv"
        report = json.loads(self.check(0, "report", self.write(
            'trace { header { pid: 1 } kernel { id: 1 name: "k" } site { id: 1 kernel_id: 1 } step { launch { site: 1 } } '
            'problem { kind: PROBLEM_ARGUMENT_SETS_OVERFLOWED count: 1 detail: "%s" } }' % name),
            "--format", "json").stdout)
        [problem] = [p for p in report["problems"] if p["name"] == "argument_sets_overflowed"]
        self.assertLess(len(problem["detail"]), 130)
        self.assertTrue(problem["detail"].endswith("..."), problem)

    def test_a_quantiser_that_was_not_found_is_not_zero(self):
        report = json.loads(self.check(0, "report", self.write(SERVER), "--format", "json").stdout)
        row = report["gemms"][0]
        self.assertEqual(row["aDtype"], "e4m3")
        self.assertNotIn("quantTimeNs", row)
        self.assertIn("no quantiser", row["quantUnknownBecause"])
        self.assertEqual((row["reduceTimeNs"], row["reduceUnknownBecause"]), (0, ""))

    def test_names_are_whole_in_a_pipe_and_with_wide(self):
        traces = self.write(SERVER)
        whole = "deep_gemm::NormalSchedulerInputSwapAB>"
        piped = self.run_hotproof("report", traces, COLUMNS="").stdout
        [row, *_] = [line for line in piped.splitlines() if "34816  5120" in line]
        self.assertTrue(row.endswith(whole), row)
        self.assertNotIn(whole, self.run_hotproof("report", traces, COLUMNS="120").stdout)
        self.assertEqual(self.run_hotproof("report", traces, "--wide", COLUMNS="120").stdout, piped)

    def test_a_trace_that_is_cut_off_is_not_said_to_be_missing(self):
        traces = self.write(SERVER + MANIFEST)
        trace = os.path.join(traces, "trace-812.hpt")
        os.truncate(trace, 20)
        report = json.loads(self.check(INCONCLUSIVE, "report", traces, "--format", "json").stdout)
        problems = {p["name"]: p for p in report["problems"]}
        self.assertEqual(set(problems), {"no_header", "no_trace", "torn_tail"})
        self.assertIn("trace-812.hpt is cut off", problems["no_trace"]["detail"])
        self.assertIn("20 bytes lost", problems["torn_tail"]["detail"])
        self.check(INCONCLUSIVE, "assert", traces, "--kernel", "absent", "--max-launches", "0", "--phase", "all")

    def test_records_in_a_part_that_is_gone_are_not_cuptis_fault(self):
        example = os.path.join(EXAMPLES, "torch-gemms-m8")
        for with_counters in (True, False):
            traces = shutil.copytree(example, os.path.join(self.folder, f"cut{with_counters}"))
            [trace], [counters] = glob.glob(traces + "/*.hpt"), glob.glob(traces + "/*.hpc")
            os.truncate(trace, os.path.getsize(trace) // 4)
            if not with_counters:
                os.remove(counters)
            report = json.loads(self.check(0, "report", traces, "--format", "json").stdout)
            names = {p["name"] for p in report["problems"]}
            self.assertFalse(names & {"no_records", "slots_exhausted", "tracer_internal"}, names)
            self.assertEqual("counter_file" in names, not with_counters)
            [lost] = [p for p in report["problems"] if p["name"] == "lost_records"]
            self.assertIn("the part of the trace that is gone", lost["detail"])

    def test_bad_input_is_one_line_and_exit_2(self):
        traces = self.write(SERVER)
        one = "--launches", "1"
        self.check_error(BAD, "no such file", "assert", "/nowhere", *one)
        self.check_error(BAD, "no such file", "report", "/nowhere")
        self.check_error(BAD, "nothing is expected", "assert", traces)
        self.check_error(BAD, "nothing is expected", "assert", traces, "--kernel", "k")
        self.check_error(BAD, "NxK", "assert", traces, "--shape", "5120", *one)
        self.check_error(BAD, "kind norm has none", "assert", traces, "--kind", "norm", "--shape", "1x1",
                         "--max-launches", "0")
        self.check_error(BAD, "no command 'bogus'", "bogus")
        self.check_error(BAD, "RE2", "assert", traces, "--kernel", "(", *one)
        self.check_error(BAD, "path", "assert", traces, "--path", "nonsense", *one)
        self.check_error(BAD, "--launches", "assert", traces, "--launches", "many")
        self.check_error(BAD, "--launches", "assert", traces, "--launches", "-1")
        self.check_error(BAD, "--frobnicate", "report", traces, "--frobnicate")
        self.check_error(BAD, "--phase", "report", traces, "--phase", "later")
        self.check_error(BAD, "cannot be read", "assert", traces, "--expect", "/nowhere")
        path = os.path.join(self.folder, "text.hpt")
        with open(path, "w") as file:
            file.write("not a trace\n" * 50)
        self.check_error(BAD, "text.hpt", "report", path)
        self.check_error(BAD, "text.hpt", "assert", path, *one)
        broken = self.write(SERVER)
        with open(os.path.join(broken, "hotproof-manifest.json"), "w") as file:
            file.write("{ not json")
        self.check_error(BAD, "manifest", "assert", broken, *one)

    def test_an_unset_variable_is_no_expectation(self):
        traces = self.write(SERVER)
        for flag in ("--kernel", "--path", "--shape", "--kind", "--share", "--time-share", "--expect"):
            self.check(BAD, "assert", traces, flag, "", "--min-launches", "1")
        for number in ("-1", "1.5", "many", "99999999999999999999999"):
            self.check_error(BAD, "takes a whole number", "assert", traces, "--path", "flashinfer", "--launches", number)
        self.check_error(BAD, "--expect-processes: takes a whole number", "assert", traces,
                         "--expect-processes", "4294967296")

    def test_limits_beyond_64_bits_are_refused(self):
        out = os.path.join(self.folder, "never")
        for size in ("99999999999999999999", "16E", "18446744073709551616", "1.5G", "5X", "-1", "G", "+1", "1Mx"):
            for flag in ("--rotate-size", "--keep"):
                self.check_error(BAD, f"{flag}: takes a size", "run", "-o", out, f"{flag}={size}", "--", "true")
        for seconds in ("99999999999999999999", "18446744073709551615", "1000000001", "1e3", "-1"):
            self.check_error(BAD, "--rotate-every: takes a whole number", "run", "-o", out,
                             f"--rotate-every={seconds}", "--", "true")
        self.assertFalse(os.path.exists(out))

    def test_any_process_may_be_the_one_that_was_not_seen(self):
        self.check(INCONCLUSIVE, "assert", self.write(SERVER + UNTRACED), "--path", "flashinfer",
                   "--processes", "any", "--max-launches", "5")
        self.check(FAIL, "assert", self.write(SERVER + MANIFEST), "--path", "flashinfer",
                   "--processes", "any", "--max-launches", "5")

    def test_output_that_cannot_be_written_is_no_success(self):
        traces = self.write(SERVER)
        with open("/dev/full", "w") as full:
            result = subprocess.run([HOTPROOF, "report", traces], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, BAD)

    def test_a_trace_whose_process_died_before_it_wrote_is_not_collected(self):
        path = os.path.join(self.folder, "empty.hpt")
        open(path, "w").close()
        self.assertIn("NOT COLLECTED", self.check(INCONCLUSIVE, "report", path).stdout)
        self.check(INCONCLUSIVE, "assert", path, "--kernel", "absent", "--max-launches", "0", "--phase", "all")

    def test_help_and_version(self):
        self.assertIn("report", self.check(0, "--help").stdout)
        self.assertIn("--min-launches", self.check(0, "assert", "--help").stdout)
        self.check(0, "--version")
        self.check_error(BAD, "--help", "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
