"""assert as a user runs it: exit codes, streams, formats, on files written for the test."""
import json
import os
import shutil
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

from cli_case import CliCase, BAD, FAIL, INCONCLUSIVE, MANIFEST, PASS, SECOND, SERVER, UNTRACED


class AssertTest(CliCase):
    def test_assert_pass_fail_inconclusive(self):
        traces = self.write(SERVER + MANIFEST)
        self.check(PASS, "assert", traces, "--path", "flashinfer", "--shape", "34816x5120", "--launches", "256")
        failed = self.check(FAIL, "assert", traces, "--kernel", "my_fp8_splitk", "--launches", "256").stdout
        self.assertIn("expected exactly 256, got 0", failed)
        self.assertIn("0 steady / 2 warm-up / 0 captured", failed)
        self.assertIn("my_fp8_splitk_kernel", failed)
        self.check(INCONCLUSIVE, "assert", self.write(SERVER + UNTRACED),
                   "--kernel", "absent", "--max-launches", "0")

    def test_the_last_line_says_how_many_checks_the_verdict_is_of(self):
        traces = self.write(SERVER)
        two = os.path.join(self.folder, "two.textproto")
        with open(two, "w") as file:
            file.write('expect { path: "flashinfer" launches: 256 }\nexpect { path: "triton" min_launches: 1 }\n')
        self.assertIn("FAIL: 1 of 2 checks, phase steady", self.check(FAIL, "assert", traces, "--expect", two).stdout)

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
        _, suite = self.junit_case(junit, tests=2, failures=0, errors=1)
        [error] = suite.iter("error")
        self.assertEqual(error.get("type"), "INCONCLUSIVE")
        self.assertIn("pid 900 worker", error.get("message"))
        self.assertIn("what to do: ", error.text)
        self.assertIn("pid 900", [p.get("value") for p in suite.iter("property") if p.get("name") == "note"][-1])
        github = self.check(FAIL, "assert", traces, *fail, "--format", "github").stdout
        self.assertTrue(github.startswith("::error title=hotproof FAIL::"), github)
        self.assertIn("\n::warning title=hotproof::coverage not checked", github)
        self.assertNotIn("ran instead", github)

    def test_numbers_of_the_json(self):
        [check] = json.loads(self.check(PASS, "assert", self.write(SERVER), "--path", "flashinfer", "--share", ">=0.99",
                                        "--format", "json").stdout)["checks"]
        self.assertEqual((check["got"], check["gotValue"], check["expectedMin"]), ("1.0000 (256 of 256 GEMMs)", 1, 0.99))
        self.assertNotIn("expectedMax", check)

    def test_launches_per_replay(self):
        traces = self.write(SERVER + MANIFEST)
        flashinfer = "assert", traces, "--path", "flashinfer", "--launches-per-replay"
        self.assertIn("expected exactly 2, got 2 in each of 128 replays of 1 graph",
                      self.check(PASS, *flashinfer, "2").stdout)
        self.check(FAIL, *flashinfer, "3")
        self.check_error(BAD, "of each process", *flashinfer, "2", "--processes", "sum")
        expect = os.path.join(self.folder, "expect.textproto")
        with open(expect, "w") as file:
            file.write('expect { path: "flashinfer" launches_per_replay: 2 }')
        self.check(PASS, "assert", traces, "--expect", expect)

    def test_an_artifact_one_folder_deeper(self):
        traces = self.write(SERVER)
        above = os.path.dirname(traces)
        for name in "inner", "other":
            shutil.copytree(traces, os.path.join(above, "artifact", name))
        artifact = os.path.join(above, "artifact")
        for command in (("report", artifact), ("compare", artifact, traces)):
            self.check_error(INCONCLUSIVE, f"{artifact}/inner, {artifact}/other", *command)
        text = self.check(INCONCLUSIVE, "assert", artifact, "--kernel", "k", "--min-launches", "1").stdout
        self.assertIn(f"what to do: name the folder of one run: {artifact}/inner, {artifact}/other", text)

    def test_phases_are_told_alike(self):
        text = self.check(INCONCLUSIVE, "assert", self.write(SECOND), "--kernel", "second", "--launches", "3").stdout
        self.assertIn("(launches: 3, unphased / 0 captured)", text)
        text += self.check(INCONCLUSIVE, "assert", self.write(SECOND), "--kernel", "absent", "--launches", "3").stdout
        self.assertIn("ran: 3  second_kernel", text)
        self.assertNotIn("warm-up", text)

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

    def test_a_junit_file_that_cannot_be_written_is_said_before_any_verdict(self):
        traces = self.write(SERVER)
        folder = tempfile.mkdtemp(dir=self.folder)
        good = "assert", traces, "--path", "flashinfer", "--launches", "256"
        for junit in folder, os.path.join(folder, "none", "junit.xml"), "/dev/full":
            self.check_error(BAD, f"--junit: cannot write {junit}", *good, "--junit", junit)
            self.check_error(BAD, f"--junit: cannot write {junit}", *good, "--junit", junit, "--format", "json")
            [line] = self.check(BAD, *good, "--junit", junit, "--format", "github").stdout.splitlines()
            self.assertTrue(line.startswith("::error title=hotproof BAD_INPUT::--junit: cannot write"), line)
            self.check(BAD, *good[:-1], "1", "--junit", junit)
        # Where the file is no reason to fail, it has the verdict and nothing of what it held.
        junit = os.path.join(folder, "junit.xml")
        with open(junit, "w") as file:
            file.write("<?xml" + " long" * 10000)
        self.check(PASS, *good, "--junit", junit)
        self.junit_case(junit, tests=1, failures=0, errors=0)
        piped = self.check(PASS, *good, "--junit", "/proc/self/fd/1").stdout
        self.assertTrue(piped.startswith("<?xml") and piped.endswith("\nPASS: 1 check, phase steady\n"), piped)

    def test_wrong_usage_replaces_an_earlier_junit_file(self):
        junit = os.path.join(self.folder, "junit.xml")
        traces = self.write(SERVER)
        good = "assert", traces, "--path", "flashinfer", "--launches", "256", "--junit", junit
        for wrong in (["--frob"], ["--min-launches", "-1"], ["--phase", "bad"], ["--format", "xml"], ["--share"],
                      ["--expect", "a", "--expect", "b"]):
            with self.subTest(wrong=wrong):
                self.check(PASS, *good)
                self.check(BAD, *good, *wrong)
                case, _ = self.junit_case(junit, tests=1, failures=0, errors=1)
                self.assertEqual(case.find("error").get("type"), "BAD_INPUT")
        self.check(PASS, *good)
        self.check(BAD, "assert", "--path", "flashinfer", "--launches", "256", f"--junit={junit}")
        self.junit_case(junit, tests=1, failures=0, errors=1)
        other = os.path.join(self.folder, "other.hpt")
        with open(other, "w") as file:
            file.write("no JUnit")
        self.check(BAD, "assert", traces, "--frob", "--junit", other)
        with open(other) as file:
            self.assertEqual(file.read(), "no JUnit")

    def test_no_input_is_written_over(self):
        traces, expect, rules = self.write(SERVER + MANIFEST), os.path.join(self.folder, "e.textproto"), \
            os.path.join(self.folder, "rules.textproto")
        with open(expect, "w") as file:
            file.write('expect { path: "flashinfer" launches: 256 }')
        with open(rules, "w") as file:
            file.write('rule { id: "mine" name: "nobody::{* gemm *}" path: "custom" kind: "gemm" }')
        trace = os.path.join(traces, "trace-812.hpt")
        manifest = os.path.join(traces, "hotproof-manifest.json")
        inputs = trace, trace.replace(".hpt", ".hpc"), manifest, expect, rules
        def contents():
            return [open(path, "rb").read() for path in inputs]
        before = contents()
        symbolic, hard = os.path.join(self.folder, "symbolic.xml"), os.path.join(self.folder, "hard.xml")
        for path in inputs:
            os.symlink(path, symbolic)
            os.link(path, hard)
            for named in path, symbolic, hard, os.path.relpath(path):
                for read in traces, trace:
                    self.check_error(BAD, "will not write over", "assert", read, "--expect", expect, "--rules", rules,
                                     "--junit", named)
                self.check_error(BAD, "will not write over", "assert", traces, "--expect", expect, "--rules", rules,
                                 "--kind", "gem", "--launches", "1", "--junit", named)
            os.remove(symbolic)
            os.remove(hard)
        self.assertEqual(contents(), before)
        self.check_error(BAD, "will not write over", "assert", traces, "--expect", expect,
                         "--junit", os.path.join(traces, "new.hpt"))
        library = os.path.join(self.folder, "library.so")
        with open(library, "w") as file:
            file.write("no device code")
        self.check_error(BAD, "will not write over", "assert", traces, "--cubin-of", library, "--launches", "1", "--junit", library)
        self.assertEqual(os.path.getsize(library), len("no device code"))
        beside = os.path.join(traces, "junit.xml")
        for _ in range(2):
            self.check(PASS, "assert", traces, "--expect", expect, "--rules", rules, "--junit", beside)
        self.junit_case(beside, tests=1, failures=0, errors=0)

    def test_bad_input_is_an_annotation_on_github(self):
        traces = self.write(SERVER)
        good = "assert", traces, "--path", "flashinfer", "--launches", "256"
        for wrong, what in ((["--format", "github", "--kind", "gem"], "kind 'gem' is unknown"),
                            (["--format=github", "--frob"], "--frob"), (["--format", "github", "--min-launches", "-1"], "--min-launches")):
            with self.subTest(wrong=wrong):
                [line] = self.check(BAD, *good, *wrong).stdout.splitlines()
                self.assertTrue(line.startswith("::error title=hotproof BAD_INPUT::"), line)
                self.assertIn(what, line)
        self.assertEqual(self.check(BAD, *good, "--frob").stdout, "")

    def test_an_unset_variable_is_no_expectation(self):
        traces = self.write(SERVER)
        for flag in ("--kernel", "--path", "--shape", "--kind", "--share", "--time-share", "--expect"):
            self.check(BAD, "assert", traces, flag, "", "--min-launches", "1")
        for number in ("-1", "1.5", "many", "99999999999999999999999"):
            self.check_error(BAD, "takes a whole number", "assert", traces, "--path", "flashinfer", "--launches", number)
        for option in "--launches", "--min-launches", "--max-launches":  # decimal, not octal
            stdout = self.check(PASS, "assert", traces, "--path", "flashinfer", option, "000256").stdout
            self.assertIn(" 256, got 256", stdout)
        self.check(PASS, "assert", traces, "--path", "flashinfer", "--launches-per-replay", "0002")
        self.check(PASS, "assert", traces, "--path", "flashinfer", "--launches", "256", "--expect-processes", "0001")
        self.check_error(BAD, "--expect-processes: takes a whole number", "assert", traces,
                         "--expect-processes", "4294967296")

    def test_copies_are_no_launches_and_that_is_said(self):
        never = "assert", self.write(SERVER + MANIFEST), "--max-launches", "0", "--kind"
        self.assertIn("note  kind memory is kernels that only move data", self.check(PASS, *never, "memory").stdout)
        self.assertIn("::warning title=hotproof::kind memory is kernels",
                      self.check(PASS, *never, "memory", "--format", "github").stdout)
        self.assertNotIn("kind memory", self.check(PASS, *never, "norm").stdout)

    def test_a_command_that_failed_is_said_and_changes_no_verdict(self):
        never = "--kernel", "absent", "--max-launches", "0"
        for code, words in ((139, "exit code 139 (signal 11)"), (1, "exit code 1:"), (143, None), (0, None)):
            with self.subTest(code=code):
                traces = self.write(SERVER + MANIFEST.replace("finished: true", f"finished: true exit_code: {code}"))
                text = self.check(PASS, "assert", traces, *never).stdout
                problems = json.loads(self.check(0, "report", traces, "--format", "json").stdout)["problems"]
                failed = [problem for problem in problems if problem["name"] == "command_failed"]
                self.assertEqual(len(failed), int(words is not None))
                if words:
                    self.assertIn("note  the command of this run ended with " + words, text)
                else:
                    self.assertNotIn("the command of this run", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
