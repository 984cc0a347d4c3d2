"""Reads the recordings of an H200 again: every GEMM of the reference model with exact M, N, K on its
path, quantisers and reductions given to their GEMMs, parts that sum to the whole.

Usage: examples_test.py HOTPROOF EXAMPLES
"""
import collections
import json
import subprocess
import sys
import unittest

HOTPROOF, EXAMPLES = sys.argv[1:3]

# N x K -> GEMMs in one forward of the reference model (64 layers: 48 linear attention, 16 full).
FP8_PER_FORWARD = {(34816, 5120): 64, (5120, 17408): 64, (5120, 6144): 64, (16384, 5120): 48,
                   (14336, 5120): 16}
EXACT = {"arguments", "tensor_map", "library_call"}
PHASES = ("steady", "all")


def report(example, phase):
    command = [HOTPROOF, "report", f"{EXAMPLES}/{example}", "--format", "json", "--phase", phase]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def shape(row):
    return row["n"], row["k"]


class Examples(unittest.TestCase):
    def check_sums(self, result):
        """Rows of each table add up to the same GPU time."""
        def total(rows, field="exclusiveTimeNs"):
            return sum(row.get(field, 0) for row in rows)
        self.assertEqual(total(result["kinds"]), total(result["kernels"]))
        self.assertAlmostEqual(total(result["kinds"], "share"), 1.0, places=9)
        gemm = next(row for row in result["kinds"] if row["kind"] == "gemm")
        self.assertEqual(total(result["gemms"]), gemm["exclusiveTimeNs"])
        self.assertEqual(total(result["gemms"], "launches"), gemm["launches"])
        for row in result["kinds"]:
            self.assertTrue(row["kind"])

    def check_every_shape_is_exact(self, result):
        for row in result["gemms"]:
            self.assertIn(row["provenance"], EXACT, row)
            self.assertTrue(row["m"] and row["n"] and row["k"], row)
        self.assertFalse([p for p in result["problems"] if p["name"] == "shape_contradiction"])

    def check_everything_is_named(self, result):
        """While serving, what is of no kind are index lists, prefix sums and what Inductor calls triton_."""
        other = [row for row in result["kernels"] if row["kind"] == "other"]
        for row in other:
            self.assertRegex(row["kernel"], "_compute_slot_mapping_kernel|DeviceScan|^triton_$")
        self.assertLess(sum(row["share"] for row in other), 0.02)

    def check_vllm(self, example, path_of_decode, path_of_more_rows):
        for phase in PHASES:
            result = report(example, phase)
            self.check_sums(result)
            self.check_every_shape_is_exact(result)
            launches = collections.Counter()
            for row in result["gemms"]:
                launches[row["operands"], shape(row)] += row["launches"]
            # The same number of forwards for every layer, and nothing else among the GEMMs.
            forwards = launches["e4m3 block", (34816, 5120)] / 64
            # serve.py's 46 decode steps and 2 prefills; warm-up and captures before.
            if phase == "steady":
                self.assertEqual(forwards, 48)
                self.check_everything_is_named(result)
            self.assertGreaterEqual(forwards, 48)
            expected = {("e4m3 block", nk): n * forwards for nk, n in FP8_PER_FORWARD.items()}
            expected["bf16", (96, 5120)] = 48 * forwards
            lm_head = launches.pop(("bf16", (248320, 5120)))
            self.assertEqual(launches, expected)
            # Of some forwards before serving nothing is sampled.
            if phase == "steady":
                self.assertEqual(lm_head, 48)
            self.assertLessEqual(lm_head, forwards)
            for row in result["gemms"]:
                if row["scaling"] == "block":
                    expected_path = path_of_decode if row["m"] <= 16 else path_of_more_rows
                    self.assertEqual(row["path"], expected_path, row)
                else:
                    self.assertEqual(row["path"], "cublaslt", row)
        decode = [row for row in report(example, "steady")["gemms"]
                  if row["m"] == 8 and row["scaling"] == "block"]
        self.assertEqual({shape(row): row["launchesPerReplay"] for row in decode}, FP8_PER_FORWARD)
        self.assertEqual(len(decode), 5)
        for row in decode:
            self.assertEqual(row["quantLaunches"], row["launches"], row)

    def test_vllm_default_path(self):
        self.check_vllm("vllm-0.25.1-default-m8", "flashinfer", "deep_gemm")

    def test_vllm_deep_gemm(self):
        self.check_vllm("vllm-0.25.1-deepgemm-m8", "deep_gemm", "deep_gemm")

    def test_recorded_before_there_were_layouts(self):
        self.check_vllm("vllm-0.25.1-deepgemm-m8-cut-off", "deep_gemm", "deep_gemm")

    def test_vllm_cutlass(self):
        self.check_vllm("vllm-0.25.1-cutlass-m8", "cutlass_vllm", "cutlass_vllm")

    def test_torch(self):
        for phase in PHASES:
            result = report("torch-gemms-m8", phase)
            self.check_sums(result)
            self.check_every_shape_is_exact(result)
            block = [row for row in result["gemms"] if row["scaling"] == "block"]
            forwards = 20 if phase == "steady" else 22  # a graph's replays; two eager ones before
            self.assertEqual({shape(row): row["launches"] / forwards for row in block},
                             FP8_PER_FORWARD)
            # torch_gemms.py asks for each shape tensor-wise too, and for a bf16 linear of 1,024 rows.
            others = [row for row in result["gemms"] if row["scaling"] != "block"]
            self.assertEqual({(row["operands"], shape(row)) for row in others},
                             {("e4m3 tensor", nk) for nk in FP8_PER_FORWARD} |
                             {("bf16", (1024, 5120))})
            for row in result["gemms"]:
                self.assertEqual((row["m"], row["path"]), (8, "cublaslt"))
                if "splitK" in row["kernel"]:
                    self.assertEqual(row["reduceLaunches"], row["launches"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
