"""report and compare, as a user runs them, on files written for the test."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from cli_case import CliCase, BAD, EXAMPLES, FAIL, HOTPROOF, INCONCLUSIVE, MANIFEST, PASS, SECOND, SERVER, UNTRACED


class ReportTest(CliCase):
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

    def test_launches_of_a_process_in_json_are_those_of_its_phases_or_all(self):
        mark = 'step { snapshot { reason: SNAPSHOT_REASON_MARK label: "steady" } } step { launch { site: 1 times: 4 } }'
        not_collected = "trace { header { pid: 814 } problem { kind: PROBLEM_OTHER_SUBSCRIBER } }"
        idle = "trace { header { pid: 815 } }"
        phased = SECOND[:SECOND.rindex("}")].replace("813", "816") + mark + "}"
        traces = self.write(SECOND + SERVER + not_collected + idle + phased + UNTRACED)
        expected = {812: ("steady", 2, 256, None), 813: ("unphased", None, None, 3), 814: ("unphased", None, None, None),
                    815: ("unphased", None, None, 0), 816: ("steady", 3, 4, None), 900: ("unphased", None, None, None)}
        for flags in (), ("--phase", "all"), ("--totals",):
            report = json.loads(self.check(0, "report", traces, "--format", "json", *flags).stdout)
            self.assertEqual({process["pid"]: (process["phase"], *map(process.get, ("warmupLaunches", "steadyLaunches",
                                                                                    "unphasedLaunches")))
                              for process in report["processes"]}, expected, flags)

    def test_report_phase_all_counts_warmup_too(self):
        traces = self.write(SERVER)
        report = json.loads(self.check(0, "report", traces, "--phase", "all", "--format", "json").stdout)
        self.assertEqual(sum(kernel["launches"] for kernel in report["kernels"]), 258)

    def test_totals_are_the_whole_runs_sums_by_kernel_name(self):
        compared = 0
        for folder in [self.write(SERVER + MANIFEST)] + sorted(glob.glob(os.path.join(EXAMPLES, "*", ""))):
            said = self.run_hotproof("report", folder, "--totals", "--format", "json")
            whole = self.run_hotproof("report", folder, "--phase", "all", "--format", "json")
            self.assertEqual(said.returncode, whole.returncode, folder)
            if said.returncode == BAD:
                continue
            sums = {}
            for row in json.loads(whole.stdout)["kernels"]:
                launches, recorded, ns = sums.get(row["kernel"], (0, 0, 0))
                sums[row["kernel"]] = (launches + row["launches"], recorded + row["timedLaunches"],
                                       ns + row.get("timeNs", 0))
            totals = json.loads(said.stdout)
            self.assertEqual({row["kernel"]: (row["launches"], row["recorded"], row.get("timeNs", 0))
                              for row in totals["kernels"]},
                             {name: row for name, row in sums.items() if row != (0, 0, 0)}, folder)
            for process, read in zip(totals["processes"], json.loads(whole.stdout)["processes"], strict=True):
                for field in "expected", "recorded", "reasons":
                    self.assertEqual(process["completeness"][field], read["completeness"][field], folder)
            compared += len(sums)
        self.assertGreater(compared, 500)
        table = self.check(0, "report", self.write(SERVER), "--totals").stdout
        self.assertIn("exactly 258 kernel launches were asked, and recorded by the trace's sums", table)
        self.assertIn("Kernels of the whole run", table)
        self.check(BAD, "report", self.write(SERVER), "--totals", "--phase", "all")

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
        [problem] = [p for p in report["problems"] if p["name"] == "trace_gone"]
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
            file.write('rule { id: "misspelt" name: "deep_gem::{* gemm *}" path: "custom" kind: "gemm" }')
        report = json.loads(self.check(0, "report", example, "--format", "json", "--rules", rules).stdout)
        self.assertEqual(["rule misspelt of " + rules + " decided no kernel"],
                         [p["detail"] for p in report["problems"] if p["name"] == "rule_unused"])
        github = self.check(FAIL, "assert", example, *expected, "--rules", rules, "--format", "github").stdout
        self.assertIn("::warning title=hotproof::rule misspelt", github)
        layout = 'layout { id: "%s" rule: "%s" parameters: "%s" checked: "for this test" }'
        deep_gemm, parameters = "deep_gemm.fp8_1d2d", "8 8 4:m 4:n 4:k 128 128 128 128"
        with open(rules, "w") as file:
            file.write(layout % ("good", deep_gemm, parameters) + layout % ("misspelt", "deep_gem", parameters) +
                       layout % ("short", deep_gemm, "8 8 4:m 4:n 4:k 128"))
        report = json.loads(self.check(0, "report", example, "--format", "json", "--rules", rules).stdout)
        self.assertEqual([f"layout misspelt is for no kernel of the trace ({rules})",
                          f"layout short read no launch ({rules})"],
                         [p["detail"] for p in report["problems"] if p["name"] == "rule_unused"])
        with open(rules, "w") as file:
            file.write("rule { nonsense: 1 }")
        for command in (("report", example), ("assert", example, *expected)):
            self.check_error(BAD, "rules.textproto", *command, "--rules", rules)

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

    def test_two_runs_in_one_report_are_said_to_be_added(self):
        traces, more = self.write(SERVER), self.write(SECOND)
        text = self.check(0, "report", traces, more, "--phase", "all").stdout
        self.assertTrue(text.startswith("2 runs are added up in every table: "), text)
        report = json.loads(self.check(0, "report", traces, more, "--phase", "all", "--format", "json").stdout)
        self.assertEqual({p["pid"]: p["run"] for p in report["processes"]}, {812: traces, 813: more})
        self.assertEqual([row["runs"] for row in report["gemms"]], [[traces]])
        self.assertIn([more], [row["runs"] for row in report["kernels"]])
        one = json.loads(self.check(0, "report", traces + "/", "--format", "json").stdout)
        self.assertEqual((one["added"], one["gemms"][0]["runs"], one["processes"][0]["run"]), ("", [], traces))

    def test_a_copy_of_a_run_is_refused(self):
        example = os.path.join(EXAMPLES, "torch-gemms-m8")
        copy = shutil.copytree(example, os.path.join(self.folder, "copy"))
        for command in (("report",), ("assert", "--kernel", "k", "--min-launches", "1")):
            self.check_error(BAD, "is a copy of", *command, example, copy)
        self.check(0, "compare", example, copy)
        [trace] = [name for name in os.listdir(copy) if name.endswith(".hpt")]
        shutil.copy(os.path.join(copy, trace), os.path.join(copy, "another-name.hpt"))
        self.check_error(BAD, "is a copy of", "report", copy)

    def test_times_of_fewer_launches_are_said_to_be(self):
        example = os.path.join(EXAMPLES, "vllm-0.25.1-deepgemm-m8-cut-off")
        text = self.run_hotproof("report", example, COLUMNS="120").stdout
        [row, *_] = [line for line in text.splitlines() if "34816   5120" in line]
        self.assertIn("2,944", row)
        self.assertIn("2,044", row)
        self.assertIn("times are of the launches in 'timed' alone", text)
        whole = self.run_hotproof("report", example.removesuffix("-cut-off"), COLUMNS="120").stdout
        self.assertNotIn("timed", whole)
        [row, *_] = [line for line in whole.splitlines() if "34816   5120" in line]
        self.assertIn("e4m3 block", row)
        self.assertIn("uneven", row)
        self.assertIn("deep_gemm 12,288 (256 a replay, 512 eager)", whole)

    def test_compare(self):
        a, b = self.write(SERVER), self.write(SECOND)
        text = self.run_hotproof("compare", a, b, "--phase", "all", COLUMNS="120").stdout
        self.assertIn(f"A  {a}", text)
        self.assertLessEqual(max(len(line) for line in text.splitlines()[6:]), 120)
        result = json.loads(self.check(0, "compare", a, b, "--phase", "all", "--format", "json").stdout)
        [gemm] = result["gemms"]
        self.assertEqual((gemm["n"], gemm["beforeLaunches"], gemm["afterLaunches"], gemm["differenceNs"]),
                         (34816, 256, 0, -256000))
        self.check_error(INCONCLUSIVE, "no trace", "compare", a, tempfile.mkdtemp(dir=self.folder))
        self.check_error(BAD, "no such file", "compare", a, "/nowhere")
        self.check_error(BAD, "after", "compare", a)
        blind = self.write('trace { problem { kind: PROBLEM_OTHER_SUBSCRIBER } }')
        self.check(INCONCLUSIVE, "compare", a, blind)

    def test_compare_does_not_take_not_collected_for_not_run(self):
        example = os.path.join(EXAMPLES, "vllm-0.25.1-default-m8")
        [engine] = [path for path in glob.glob(example + "/*.hpt") if os.path.getsize(path) > 100_000]
        gone, empty = (shutil.copytree(example, os.path.join(self.folder, name)) for name in ("gone", "empty"))
        os.remove(os.path.join(gone, os.path.basename(engine)))
        os.truncate(os.path.join(empty, os.path.basename(engine)), 0)
        for damaged in gone, empty:
            text = self.check(INCONCLUSIVE, "compare", example, damaged).stdout
            self.assertRegex(text, "B  .*  NOT COLLECTED  coverage PARTIAL  kernel launches \\?\n")
            self.assertRegex(text, "2,944  +\\? ")
            self.assertNotRegex(text, "(?m)^ +on ")
            both = self.check(INCONCLUSIVE, "compare", damaged, damaged).stdout
            self.assertNotIn("ran in either", both)
            side = json.loads(self.check(INCONCLUSIVE, "compare", example, damaged, "--format", "json").stdout)["sides"][1]
            self.assertEqual((side["state"], side["countsExact"]), ("NOT_COLLECTED", False))
            self.assertNotIn("launches", side)
            self.check(INCONCLUSIVE, "compare", damaged, example)

    def test_compare_says_what_it_leaves_out_of_a_run(self):
        example = os.path.join(EXAMPLES, "vllm-0.25.1-default-m8")
        [server] = [path for path in glob.glob(example + "/*.hpt") if os.path.getsize(path) <= 100_000]
        sides = json.loads(self.check(0, "compare", server, example, "--format", "json").stdout)["sides"]
        self.assertEqual(len(sides[0]["caveats"]), 1)
        self.assertRegex(sides[0]["caveats"][0], "pid [0-9]+.*was not named: python3")
        self.assertEqual(sides[1]["caveats"], [])

    def test_compared_times_of_fewer_launches_are_said_to_be(self):
        example = os.path.join(EXAMPLES, "vllm-0.25.1-deepgemm-m8")
        text = self.run_hotproof("compare", example, example + "-cut-off", COLUMNS="120").stdout
        [row, *_] = [line for line in text.splitlines() if "34816   5120" in line]
        self.assertRegex(row, "2,944 +>= 2,944 +2,044 ")
        self.assertIn("times of B are of the launches in 'B timed' alone", text)
        whole = [line for line in text.splitlines() if example in line]  # a path is never cut
        self.assertEqual(len(whole), 2)
        self.assertLessEqual(max(len(line) for line in text.splitlines() if line not in whole), 120)

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
        self.assertEqual(set(problems), {"no_header", "torn_tail"})
        [process] = report["processes"]
        self.assertEqual((process["pid"], process["name"], process["coverage"]), (812, "(cut off: trace-812.hpt)", "PARTIAL"))
        self.assertIn("20 bytes lost", problems["torn_tail"]["detail"])
        self.check(INCONCLUSIVE, "assert", traces, "--kernel", "absent", "--max-launches", "0", "--phase", "all")
        self.check(INCONCLUSIVE, "assert", traces, "--expect-processes", "1")

    def test_damage_in_very_many_places_is_told_in_few_lines(self):
        traces = self.write(SERVER)
        empty = b"\x28\xb5\x2f\xfd\xe0" + bytes(8) + b"\x01\0\0"  # a frame; as a chunk, one that came before
        with open(os.path.join(traces, "trace-812.hpt"), "ab") as trace:
            trace.write(empty * 5000)
        report = json.loads(self.check(0, "report", traces, "--format", "json").stdout)
        problems = [problem for problem in report["problems"] if problem["name"] == "malformed_chunk"]
        self.assertLess(len(problems), 40)
        self.assertIn("more places", problems[-1]["detail"])
        self.assertEqual(report["processes"][0]["completeness"]["state"], "LOWER_BOUND")

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

    def test_a_trace_whose_process_died_before_it_wrote_is_not_collected(self):
        path = os.path.join(self.folder, "empty.hpt")
        open(path, "w").close()
        self.assertIn("NOT COLLECTED", self.check(INCONCLUSIVE, "report", path).stdout)
        self.check(INCONCLUSIVE, "assert", path, "--kernel", "absent", "--max-launches", "0", "--phase", "all")

    def test_names_forge_no_line_and_colour_nothing(self):
        forged = SERVER.replace("/usr/bin/python3", "/usr/bin/x\\nPASS: 1 check\\033[32m").replace(
            "my_fp8_splitk_kernel", "my_\\033[31m_kernel")
        traces = self.write(forged + MANIFEST)
        for arguments in (["report", traces, "--phase", "all"],
                          ["assert", traces, "--kernel", "absent", "--min-launches", "1"],
                          ["assert", traces, "--kernel", "my_", "--max-launches", "1", "--phase", "all",
                           "--format", "github"]):
            text = self.run_hotproof(*arguments).stdout
            self.assertNotIn("\033", text)
            self.assertFalse([line for line in text.splitlines() if line.startswith("PASS")], text)
            self.assertIn("x PASS: 1 check?[32m", text)
        text = self.check(0, "classify", "--format", "table", "a\033[31m\nb").stdout
        self.assertTrue(text.endswith("a?[31m b\n"), text)

    def test_a_folder_may_have_any_name(self):
        traces = self.write(SERVER)
        odd = os.path.join(self.folder.encode(), b"a\xff")
        os.rename(traces, odd)
        for arguments in (["report", odd, "--format", "json"], ["report", odd], ["compare", odd, odd]):
            result = subprocess.run([HOTPROOF, *arguments], capture_output=True)
            self.assertEqual((result.returncode, result.stderr), (0, b""), result)
            result.stdout.decode()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
