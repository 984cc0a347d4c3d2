"""Wrong usage and unreadable input of all commands, as a user meets them: one line, exit code 2."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from cli_case import CliCase, BAD, HOTPROOF, MANIFEST, SERVER, TO_DO


class ErrorTest(CliCase):
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

    def test_every_error_says_what_to_do(self):
        """check_error asks that; here are the errors that no other test makes."""
        traces = self.write(SERVER)
        folder, empty = tempfile.mkdtemp(dir=self.folder), os.path.join(self.folder, "empty")
        open(empty, "w").close()
        def file_of(name, text):
            with open(os.path.join(self.folder, name), "w") as file:
                file.write(text)
            return file.name
        text = file_of("text", "some text")
        for path, what in (("/dev/null", "not a regular file"), (text, "not a hotproof trace")):
            for command in ("report", path), ("compare", traces, path), ("assert", path, "--launches", "1"):
                self.check_error(BAD, what, *command)
        for path, what in (("/nowhere", "No such file"), (folder, "no regular file"), ("/dev/null", "no regular file"),
                           (empty, "holds no device code"), (text, "holds no device code")):
            self.check_error(BAD, f"{path}: {what}", "assert", traces, "--cubin-of", path, "--launches", "1")
        self.check_error(BAD, "--cubin-of", "assert", traces, "--launches", "1", "--cubin-of")
        self.check_error(BAD, "--cubin-of", "assert", traces, "--launches", "1", "--cubin-of", "")
        for path in folder, empty, text, "/nowhere":
            self.check_error(BAD, path, "assert", traces, "--expect", path)
            for command in ("report", traces), ("assert", traces, "--launches", "1"), ("classify", "name"):
                self.check_error(BAD, path, *command, "--rules", path)
        for rules in "rule { }", "type { name: '{' }", "rule { id: 'x' name: 'f<' kind: 'gemm' }", "layout { id: 'x' }", "rule {":
            self.check_error(BAD, "rules.textproto", "report", traces, "--rules", file_of("rules.textproto", rules))
        for bounds, what in (("", "nothing is expected"), ("min_launches: 2 max_launches: 1", "exclude each other"),
                             ("launches: 2 max_launches: 1", "excludes"), ("min_launches: 0", "never fail"),
                             ("share: '>=2'", "exceeds 1"), ("share: '1'", "no comparison"), ("time_share: '<=1'", "never fail"),
                             ("shape: 'x' launches: 1", "NxK"), ("kind: 'x' launches: 1", "unknown"),
                             ("processes: 7 launches: 1", "unknown"), ("name: '' launches: 1", "empty"),
                             ("device_code { } launches: 1", "cubin_of"), ("range: '(' launches: 1", "RE2")):
            expect = file_of("expect.textproto", "expect { path: 'custom' " + bounds + " }")
            self.check_error(BAD, what.replace("no comparison", "not a comparison"), "assert", traces, "--expect", expect)
        for command, what in (((), "subcommand"), (("--bogus",), "there is no option --bogus"), (("report",), "path"),
                              (("run",), "--out"), (("run", "-o", folder), "command"), (("doctor", "x"), "x"),
                              (("run", "-o", text, "--", "true"), "cannot create"),
                              (("run", "-o", "/proc/none", "--", "true"), "cannot create"),
                              (("report", traces, "--totals", "--phase", "all"), "excludes"),
                              (("report", traces, "--format", "xml"), "xml"), (("run", "-o", traces, "--", "true"), "earlier run")):
            self.check_error(BAD, what, *command)
        self.check_error(127, "cannot start", "run", "-o", folder, "--", "/nowhere/program")
        for library in "/nowhere", text:
            result = self.run_hotproof("run", "-o", os.path.join(self.folder, "new"), "--", "true", HOTPROOF_LIBRARY=library)
            self.assertEqual(result.returncode, BAD)
            self.assertRegex(result.stderr, TO_DO)
        for table in "json", "table":
            with open(self.write(SERVER + MANIFEST) + "/trace-812.hpt", "w") as no_input:
                result = subprocess.run([HOTPROOF, "classify", "-", "--format", table], stdin=no_input, capture_output=True, text=True)
            self.assertRegex(result.stderr, TO_DO, table)
            self.assertEqual(result.returncode, BAD)

    def test_limits_beyond_64_bits_are_refused(self):
        out = os.path.join(self.folder, "never")
        for size in ("99999999999999999999", "16E", "18446744073709551616", "1.5G", "5X", "-1", "G", "+1", "1Mx"):
            for flag in ("--rotate-size", "--keep"):
                self.check_error(BAD, f"{flag}: takes a size", "run", "-o", out, f"{flag}={size}", "--", "true")
        for seconds in ("99999999999999999999", "18446744073709551615", "1000000001", "1e3", "-1"):
            self.check_error(BAD, "--rotate-every: takes a whole number", "run", "-o", out,
                             f"--rotate-every={seconds}", "--", "true")
        self.assertFalse(os.path.exists(out))

    def test_output_that_cannot_be_written_is_no_success(self):
        traces = self.write(SERVER)
        with open("/dev/full", "w") as full:
            result = subprocess.run([HOTPROOF, "report", traces], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, BAD)

    def test_an_unknown_option_is_named_before_what_is_missing(self):
        self.check_error(BAD, "there is no option --foo", "classify", "--foo")
        self.check_error(BAD, "there is no option --foo", "run", "--foo")

    def test_help_and_version(self):
        self.assertIn("report", self.check(0, "--help").stdout)
        text = self.check(0, "assert", "--help").stdout
        for words in ("--min-launches", "Paths: unknown cublaslt", "Kinds: other gemm", "elementwise any"):
            self.assertIn(words, text)
        self.check(0, "--version")
        self.check_error(BAD, "--help", "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
