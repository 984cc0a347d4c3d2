#!/usr/bin/env python3
"""include_graph.py finds what it is there to find."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).with_name("include_graph.py")


class IncludeGraph(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.source = pathlib.Path(self.folder.name)
        self.write("cmake/arrows.txt", "# arrows\nproto:\ntrace: proto\ncupti_tracer: trace\ncli: trace\n")
        self.write("trace/writer.h", "#include <string>\n")
        self.write("cupti_tracer/core.cc", '#include "trace/writer.h"\n')

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self):
        done = subprocess.run([sys.executable, CHECKER, self.source], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_allowed_arrows_pass(self):
        self.write("cli/main.cc", '#include "trace/writer.h"\n')
        self.assertEqual(self.check(), (0, "3 files in 4 rooms, 0 violations\n"))

    def test_a_room_that_must_not_be_known(self):
        self.write("cli/main.cc", '  #  include "cupti_tracer/core.h"\n')
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("cli/main.cc: cli must not know cupti_tracer: includes cupti_tracer/core.h", text)

    def test_angle_brackets_and_tests_count_too(self):
        self.write("trace/reader.cc", "#include <cli/run.h>\n")
        self.write("cli/run.cc", '#include "tests/tools/make.h"\n')
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("trace must not know cli", text)
        self.assertIn("cli must not know tests", text)

    def test_a_relative_path_into_another_room(self):
        self.write("cli/run.h", "")
        self.write("trace/reader.cc", '#include "../cli/run.h"\n')
        code, text = self.check()
        self.assertEqual(code, 1, text)
        self.assertIn("trace must not know cli", text)

    def test_protobuf_must_not_reach_the_tracer_through_a_header(self):
        self.write("trace/writer.h", '#include "tables.h"\n')
        self.write("trace/tables.h", '#include "proto/trace.pb.h"\n')
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("trace/tables.h: must stay out of libhotproof.so: proto/trace.pb.h "
                      "(by trace/tables.h <- trace/writer.h <- cupti_tracer/core.cc)", text)

    def test_an_empty_tree_is_an_error(self):
        for path in self.source.rglob("*.*"):
            if path.suffix in (".h", ".cc"):
                path.unlink()
        self.assertNotEqual(self.check()[0], 0)


if __name__ == "__main__":
    unittest.main()
