"""What the shape programs share: shapes that nobody has asked for yet, and the record of what was asked.

A row is {"library", "paths", "m", "n", "k", "batch", "launches"}: D[m,n] = A[m,k] x B[n,k]^T, row-major D. The same
shape is never asked of two libraries in one run. m, n and k null: launches whose shape nothing on the host tells.
"""
import collections
import os
import random

import torch

BF16, E4M3 = torch.bfloat16, torch.float8_e4m3fn
CUBLAS = ["cublas", "cublaslt"]
EAGER, REPLAYS = 9, 3  # launches of a shape: EAGER, and one captured that is replayed
SHARE = float(os.environ.get("HOTPROOF_SHAPES_SHARE", "1"))  # of the shapes of each kind


def randn(*shape, dtype=BF16):
    return torch.randn(*shape, device="cuda").to(dtype)


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

    def shapes_of_few_weights(self, weights, per_weight, max_m, m_step=1):
        """As shapes(), for libraries that compile a kernel for each N and K."""
        for _, n, k in list(self.shapes(weights, 128, 128, n_steps=64, k_steps=32)):
            for _ in range(per_weight):
                m = m_step * self.random.randint(1, max_m // m_step)
                if self.is_new(m, n, k):
                    yield m, n, k

    def is_new(self, m, n, k):
        """Whether nobody has asked for it; from now on somebody has."""
        is_new = (m, n, k) not in self.taken
        self.taken.add((m, n, k))
        return is_new

    def launch(self, library, paths, m, n, k, call, batch=1, eager=EAGER, in_parts=False):
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
        row = self.rows.setdefault((library, m, n, k, batch), {
            "library": library, "paths": paths, "m": m, "n": n, "k": k, "batch": batch, "launches": 0,
            "in_parts": in_parts})
        row["launches"] += eager + REPLAYS
