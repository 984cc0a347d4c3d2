"""What the shape programs share: shapes that nobody has asked for yet, and the record of what was asked.

A row is {"library", "paths", "m", "n", "k", "batch", "launches", "captured", "in_parts", ...what}: D[m,n] = A[m,k] x
B[n,k]^T, row-major D; "captured" launches are replays of one node, the others are eager. The same shape is never asked
of two libraries in one run. m, n and k null: launches whose shape nothing on the host tells. `what` is of Product:
{"a", "b", "d", "scaling", "launchers", "calls"}, each null where the program does not know it.
"""
import collections
import os
import random
import time

import torch

BF16, E4M3 = torch.bfloat16, torch.float8_e4m3fn
CUBLAS = ["cublas", "cublaslt"]
EAGER, REPLAYS = 9, 3  # launches of a shape: EAGER, and one captured that is replayed
SHARE = float(os.environ.get("HOTPROOF_SHAPES_SHARE", "1"))  # of the shapes of each kind
# After so many seconds no more shapes are asked for, of libraries that compile a kernel for each.
SECONDS = float(os.environ.get("HOTPROOF_SHAPES_SECONDS", "inf"))
BEGIN = time.monotonic()

DTYPES = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float32: "fp32", torch.float64: "fp64",
          torch.complex64: "cfp32", torch.complex128: "cfp64", torch.float8_e4m3fn: "e4m3", torch.int8: "int8",
          torch.int32: "int32"}


def product(a, b=None, d=None, scaling="none", launchers=None, calls=()):
    """What is asked for beside a shape: types of A, B and D (torch's, or names; B and D are A's if not given), how
    the operands are scaled (a list: in any of these ways, which is the same), what the path of the launching library
    holds, and the cuBLAS calls that may have been made (`call`). No calls: it is made in none."""
    b, d = b or a, d or a
    return {**{key: DTYPES.get(dtype, dtype) for key, dtype in zip("abd", (a, b, d))},
            "scaling": scaling, "launchers": launchers, "calls": list(calls)}


def row_scales(m):
    """Of vectors; the scale of one row is a vector and a number."""
    return "token_channel" if m > 1 else ["token_channel", "channel"]


def call(entry_point, compute="32F", epilogue="", scales=("", "")):
    """A library call, in the library's words; its A is the weight. `compute` "": the entry point names none."""
    return {"entryPoint": entry_point, "computeType": compute, "epilogue": epilogue, "aScaleMode": scales[0],
            "bScaleMode": scales[1]}


def matmul(epilogue="DEFAULT", scales=("SCALAR_32F", "SCALAR_32F"), compute="32F"):
    return call("cublasLtMatmul", compute, epilogue, scales)


# How cuBLASLt scales FP8: of the weight, of the activation.
ROWS = ("OUTER_VEC_32F", "OUTER_VEC_32F")
BLOCKS = ("BLK128x128_32F", "VEC128_32F")


def plain_call(dtype, batched=False):
    """torch's call for a product without a bias."""
    letter = {torch.float32: "S", torch.float64: "D", torch.complex64: "C", torch.complex128: "Z"}.get(dtype)
    kind = "StridedBatched" if batched else ""
    return call(f"cublas{letter}gemm{kind}", "") if letter else call(f"cublasGemm{kind}Ex")


def randn(*shape, dtype=BF16):
    return torch.randn(*shape, device="cuda").to(dtype)


def loaded(part):
    """File names of the loaded objects whose path holds `part`."""
    with open("/proc/self/maps") as maps:
        paths = {line.split(None, 5)[5].strip() for line in maps if line.count("/") and ".so" in line}
    return sorted(os.path.basename(path) for path in paths if part in path)


class Asked:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.taken, self.rows = set(), collections.OrderedDict()

    def shapes(self, count, n_step, k_step, m_step=1, max_m=4096, n_steps=256, k_steps=64):
        """Shapes that nobody has yet: M 1..max_m, N and K ragged as far as the library allows."""
        count = max(1, int(count * SHARE))
        while count:
            m = 1 if self.random.random() < 0.05 else m_step * self.random.randint(1, max_m // m_step)
            n, k = n_step * self.random.randint(1, n_steps), k_step * self.random.randint(1, k_steps)
            m = max(m, m_step)
            if self.is_new(m, n, k):
                count -= 1
                yield m, n, k

    def shapes_of_few_weights(self, weights, per_weight, max_m, m_step=1, min_m=1):
        """As shapes(), for libraries that compile a kernel for each N and K."""
        for _, n, k in list(self.shapes(weights, 128, 128, n_steps=64, k_steps=32)):
            for _ in range(per_weight):
                m = m_step * self.random.randint(-(-min_m // m_step), max_m // m_step)
                if time.monotonic() - BEGIN < SECONDS and self.is_new(m, n, k):
                    yield m, n, k

    def is_new(self, m, n, k):
        """Whether nobody has asked for it; from now on somebody has."""
        is_new = (m, n, k) not in self.taken
        self.taken.add((m, n, k))
        return is_new

    def launch(self, library, paths, m, n, k, call, batch=1, eager=EAGER, in_parts=False, what=None):
        """`call` computes it on the current stream; in_parts: its rows may be dealt out to several launches."""
        for _ in range(eager):
            call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
        for _ in range(REPLAYS):
            graph.replay()
        torch.cuda.synchronize()
        what = what or {"a": None, "b": None, "d": None, "scaling": None, "launchers": None, "calls": None}
        row = self.rows.setdefault((library, m, n, k, batch), {
            "library": library, "paths": paths, "m": m, "n": n, "k": k, "batch": batch, "launches": 0, "captured": 0,
            "in_parts": in_parts, **what})
        if any(row[key] != value for key, value in what.items()):
            raise ValueError(f"{library} {m} x {n} x {k}: asked for in two ways")
        row["launches"] += eager + REPLAYS
        row["captured"] += REPLAYS

    def finished(self):
        """All rows, with the launching libraries by name: to be called when everything is loaded."""
        return [{**row, "launchers": loaded(row["launchers"]) if row["launchers"] else None}
                for row in self.rows.values()]
