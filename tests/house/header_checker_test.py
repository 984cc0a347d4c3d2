#!/usr/bin/env python3
"""header_test.py finds what it is there to find. Usage: header_checker_test.py COMPILER"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).with_name("header_test.py")
COMPILER = sys.argv.pop(1)


class HeaderChecker(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.source = pathlib.Path(self.folder.name).resolve()
        (self.source / "room").mkdir()
        self.write("a.cc", '#include "room/a.h"\n')
        self.write("a.h", "#pragma once\nstruct A {};\n")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        (self.source / "room" / name).write_text(text)

    def check(self):
        commands = [{"directory": str(self.source), "file": str(self.source / "room/a.cc"),
                     "command": f"{COMPILER} -std=c++20 -I{self.source} -o a.o -c {self.source}/room/a.cc"}]
        (self.source / "commands.json").write_text(json.dumps(commands))
        done = subprocess.run([sys.executable, CHECKER, self.source / "commands.json", self.source, "room"],
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_good_headers(self):
        self.write("b.h", '#pragma once\n#include "room/a.h"\ninline A MakeA() { return {}; }\n')
        self.assertEqual(self.check(), (0, "\n2 headers, 1 compiled alone, 0 errors\n"))

    def test_a_missing_include(self):
        self.write("b.h", "#pragma once\ninline A MakeA() { return {}; }\n")
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("room/b.h is not self-contained", text)

    def test_a_source_that_hides_it(self):
        self.write("a.h", "#pragma once\nstruct A { std::string s; };\n")
        self.write("a.cc", '#include <string>\n#include "room/a.h"\n')
        self.assertEqual(self.check()[0], 1)

    def test_a_missing_guard(self):
        self.write("a.h", "struct A {};\n")
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("room/a.h: no #pragma once", text)


if __name__ == "__main__":
    unittest.main()
