"""That the comparison can fail: on reports made by hand."""
import copy
import unittest

import compare_shapes

ASKED = [{"library": "a", "paths": ["triton"], "m": 7, "n": 96, "k": 5120, "batch": 1, "launches": 600},
         {"library": "flashinfer", "paths": ["flashinfer"], "m": 8, "n": 64, "k": 128, "batch": 1,
          "launches": 600}]
RIGHT = {"gemms": [
    {"m": 7, "n": 96, "k": 5120, "path": "triton", "kernel": "k", "launches": 500},
    {"m": 7, "n": 96, "k": 5120, "path": "triton", "kernel": "k2", "launches": 100},
    {"m": 8, "n": 64, "k": 128, "path": "flashinfer", "kernel": "f", "launches": 600}]}


def sentences(change=lambda rows: None, asked=ASKED):
    report = copy.deepcopy(RIGHT)
    change(report["gemms"])
    return " ".join(compare_shapes.verdict(*compare_shapes.compare(asked, report)))


class CompareShapes(unittest.TestCase):
    def test_right(self):
        self.assertEqual(sentences(), "")

    def test_a_wrong_dim(self):
        text = sentences(lambda rows: rows[1].update(k=5121))
        self.assertIn("nobody asked for 7 x 96 x 5121", text)
        self.assertIn("a: 100 launches without their shape", text)

    def test_m_and_n_exchanged(self):
        self.assertIn("nobody asked for 96 x 7 x 5120", sentences(lambda rows: rows[0].update(m=96, n=7)))

    def test_a_batch_that_was_lost(self):
        asked = copy.deepcopy(ASKED)
        asked[0]["batch"] = 4
        self.assertIn("nobody asked for", sentences(asked=asked))
        self.assertEqual("", sentences(lambda rows: [r.update(batch=4) for r in rows[:2]], asked))

    def test_another_path(self):
        self.assertIn("on another path", sentences(lambda rows: rows[0].update(path="cublas")))

    def test_unknown(self):
        self.assertIn("without their shape", sentences(lambda rows: rows[0].pop("m")))

    def test_one_launch_too_many(self):
        self.assertIn("a: 1 launches more", sentences(lambda rows: rows[0].update(launches=601)))

    def test_a_call_of_two_kernels(self):
        self.assertEqual("", sentences(lambda rows: [row.update(launches=600) for row in rows[:2]]))

    def test_rows_dealt_out_to_launches(self):
        asked = [{"library": "m", "paths": ["marlin"], "m": 396, "n": 64, "k": 128, "batch": 1, "launches": 600,
                  "in_parts": True}]

        def verdict(*parts):
            rows = [{"m": m, "n": 64, "k": 128, "path": "marlin", "kernel": "m", "launches": 600} for m in parts]
            return " ".join(compare_shapes.verdict(*compare_shapes.compare(asked, {"gemms": rows})))
        self.assertEqual("", verdict(384, 12))
        asked.append({**asked[0], "m": 12})
        self.assertEqual("", verdict(384, 12, 12))
        self.assertIn("launches without their shape", verdict(384, 12))
        asked.pop()
        self.assertIn("nobody asked for 384", verdict(384, 13))
        self.assertIn("600 launches without their shape", verdict(384))

    def test_groups_in_device_memory(self):
        asked = ASKED + [{"library": "g", "paths": ["other"], "m": None, "n": None, "k": None, "batch": 1,
                          "launches": 12}]
        row = {"path": "other", "kernel": "g", "launches": 12}
        self.assertEqual("", sentences(lambda rows: rows.append(row), asked))
        self.assertIn("nobody asked for 1 x 1 x 1", sentences(lambda rows: rows.append({**row, "m": 1, "n": 1, "k": 1}),
                                                              asked))
        self.assertIn("unknown shape", sentences(lambda rows: rows.append({**row, "launches": 13}), asked))
        self.assertIn("g: 12 launches not recorded", sentences(asked=asked))

    def test_what_else_was_asked_for(self):
        call = {"entryPoint": "cublasLtMatmul", "computeType": "32F", "epilogue": "BIAS", "aScaleMode": "SCALAR_32F",
                "bScaleMode": "SCALAR_32F"}
        asked = [{"library": "lt", "paths": ["cublaslt"], "m": 8, "n": 96, "k": 512, "batch": 1, "launches": 600,
                  "captured": 150, "a": "e5m2", "b": "e4m3", "d": "bf16", "scaling": "tensor",
                  "launchers": ["libcublasLt.so.13"], "calls": [call]}]
        said = {**call, "aDtype": "e4m3", "bDtype": "e5m2", "dDtype": "bf16", "launches": 600}
        row = {"m": 8, "n": 96, "k": 512, "path": "cublaslt", "kernel": "k", "launches": 600, "eagerLaunches": 450,
               "capturedNodes": 1, "aDtype": "e5m2", "bDtype": "e4m3", "dDtype": "bf16", "scaling": "tensor",
               "library": "libcublasLt.so.13", "calls": [said]}

        def verdict(of_call=None, asked_too=None, **change):
            rows = [{**row, **change}]
            if of_call:
                rows[0]["calls"] = [{**said, **of_call}]
            return " ".join(compare_shapes.verdict(*compare_shapes.compare([{**asked[0], **(asked_too or {})}],
                                                                           {"gemms": rows})))
        self.assertEqual("", verdict())
        self.assertIn("lt: 600 launches with another A", verdict(aDtype="e4m3"))
        self.assertIn("another B", verdict(bDtype="bf16"))
        self.assertIn("another D", verdict(dDtype="fp16"))
        self.assertIn("lt: 600 launches whose D is unknown", verdict(dDtype=""))
        self.assertIn("another scaling", verdict(scaling="block"))
        self.assertIn("scaling is unknown", verdict(scaling="tensor or token_channel"))
        self.assertIn("another scaling", verdict(scaling="block or token_channel"))
        self.assertEqual("", verdict(asked_too={"scaling": ["token_channel", "tensor"]}))
        self.assertIn("another scaling", verdict(asked_too={"scaling": ["token_channel", "channel"]}))
        self.assertIn("another library", verdict(library="libtorch.so"))
        self.assertIn("library is unknown", verdict(library=""))
        self.assertIn("another captured", verdict(eagerLaunches=600))
        self.assertEqual("", verdict({"entryPoint": "cublasLtMatmul_64"}))
        for change in ({"entryPoint": "cublasGemmEx"}, {"epilogue": "DEFAULT"}, {"bScaleMode": "OUTER_VEC_32F"},
                       {"computeType": "16F"}, {"aDtype": "e5m2"}):
            self.assertIn("another call", verdict(change), change)
        self.assertIn("lt: 600 launches whose call is unknown", verdict(calls=[]))
        self.assertIn("lt: 200 launches whose call is unknown", verdict({"launches": 400}))
        self.assertIn("another call", verdict(asked_too={"calls": []}))
        self.assertEqual("", verdict(asked_too={"calls": []}, calls=[]))

    def test_nothing(self):
        self.assertIn("nothing was asked for", sentences(asked=[]))


if __name__ == "__main__":
    unittest.main()
