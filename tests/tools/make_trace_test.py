"""make_trace's traces are what a report has to do with: every GEMM's shape is read from arguments, tensor maps and
library calls, there is a steady phase, quantisers find their GEMMs, and a second run writes the same bytes.
Usage: make_trace_test.py MAKE_TRACE HOTPROOF [unittest arguments]"""
import collections
import json
import os
import subprocess
import sys
import tempfile
import unittest

MAKE_TRACE, HOTPROOF = sys.argv[1:3]
LAUNCHES = 100_000


class MakeTraceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.trace = os.path.join(folder.name, "a.hpt")

    def make(self, *options):
        subprocess.run([MAKE_TRACE, "--launches", str(LAUNCHES), *options, "--out", self.trace], check=True)
        with open(self.trace, "rb") as file:
            return file.read()

    def report(self):
        return json.loads(subprocess.run([HOTPROOF, "report", "--format", "json", self.trace], check=True,
                                         stdout=subprocess.PIPE).stdout)

    def check_shapes(self, report):
        self.assertGreater(len(report["gemms"]), 100)
        for gemm in report["gemms"]:
            self.assertEqual((gemm["provenance"], gemm["unknownBecause"]), ("arguments", ""), gemm)
            self.assertTrue(gemm["m"] and gemm["n"] and gemm["k"], gemm)
        self.assertEqual({gemm["path"] for gemm in report["gemms"]}, {"flashinfer", "deep_gemm", "cublaslt"})
        self.assertEqual({gemm["n"] for gemm in report["gemms"] if gemm["path"] == "flashinfer"},
                         {34816, 5120, 16384, 14336})

    def test_a_decode_server(self):
        self.make()
        report = self.report()
        self.check_shapes(report)
        self.assertEqual(report["problems"], [])
        (process,) = report["processes"]
        self.assertEqual(process["phase"], "steady")
        self.assertIn("after the last of 4 captures", process["phaseSentence"])
        self.assertEqual((process["completeness"]["state"], process["steadyLaunches"]), ("COMPLETE", LAUNCHES))
        kinds = collections.Counter({kind["kind"]: kind["launches"] for kind in report["kinds"]})
        self.assertEqual(set(kinds), {"gemm", "elementwise", "quant", "attention"})
        self.assertEqual(kinds.total(), LAUNCHES)
        self.assertGreater(sum(gemm["quantLaunches"] for gemm in report["gemms"]), LAUNCHES // 100)

    def test_eager_launches_alone(self):
        self.make("--eager-percent", "100")
        report = self.report()
        self.check_shapes(report)
        self.assertEqual([problem["name"] for problem in report["problems"]], ["unphased"])
        self.assertGreater(len({gemm["m"] for gemm in report["gemms"]}), 5)

    def test_the_same_bytes_on_every_run(self):
        first = self.make("--seed", "7")
        self.assertEqual(first, self.make("--seed", "7"))
        self.assertNotEqual(first, self.make("--seed", "8"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
