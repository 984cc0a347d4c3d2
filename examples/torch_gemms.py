"""The reference model's five FP8 GEMM shapes at M = 8 through torch, eagerly and as a CUDA graph.

One forward is 256 block-scaled GEMMs in model order (64 layers, every fourth with full attention). The
program runs EAGER eager forwards, then captures one forward as a CUDA graph and replays it REPLAYS times;
after that a tensor-wise GEMM of each shape, a bf16 linear and a Triton kernel run eagerly, a few times each.
It prints what it asked for as JSON, so that a trace of it can be checked.

    hotproof run -o DIR -- python3 examples/torch_gemms.py [EAGER] [REPLAYS]
"""
import json
import sys

import torch
import triton
import triton.language as tl

M = 8
GATE_UP, DOWN, OUT, LIN_IN, QKV = (34816, 5120), (5120, 17408), (5120, 6144), (16384, 5120), (14336, 5120)
LAYERS = 64
OTHERS = 4  # launches of each of the other kernels


@triton.jit
def add_one_kernel(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) + 1, i < n)


class BlockScaled:
    """e4m3 A[M,K] with fp32 scales 1x128, e4m3 B[N,K] with fp32 scales 128x128."""

    def __init__(self, n, k):
        self.a = torch.randn(M, k, device="cuda").to(torch.float8_e4m3fn)
        self.b = torch.randn(n, k, device="cuda").to(torch.float8_e4m3fn)
        self.scale_a = torch.rand(k // 128, M, device="cuda").t()  # rows adjacent in memory
        padded = -(-(k // 128) // 4) * 4
        self.scale_b = torch.rand(n // 128, padded, device="cuda")[:, : k // 128].t()

    def __call__(self):
        return torch._scaled_mm(self.a, self.b.t(), self.scale_a, self.scale_b, out_dtype=torch.bfloat16)


def main():
    eager = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    replays = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    gemm = {shape: BlockScaled(*shape) for shape in (GATE_UP, DOWN, OUT, LIN_IN, QKV)}

    def forward():
        for layer in range(LAYERS):
            gemm[QKV if layer % 4 == 3 else LIN_IN]()
            gemm[OUT]()
            gemm[GATE_UP]()
            gemm[DOWN]()

    for _ in range(eager):
        forward()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        forward()
    for _ in range(replays):
        graph.replay()
    torch.cuda.synchronize()

    one = torch.ones((), device="cuda")
    linear = torch.nn.Linear(5120, 1024, bias=False, device="cuda", dtype=torch.bfloat16)
    x = torch.randn(M, 5120, device="cuda", dtype=torch.bfloat16)
    y = torch.zeros(4096, device="cuda")
    for _ in range(OTHERS):
        for g in gemm.values():
            torch._scaled_mm(g.a, g.b.t(), one, one, out_dtype=torch.bfloat16)
        linear(x)
        add_one_kernel[(4,)](y, y.numel(), BLOCK=1024)
    torch.cuda.synchronize()
    per_forward = {"34816x5120": 64, "5120x17408": 64, "5120x6144": 64, "16384x5120": 48, "14336x5120": 16}
    print(json.dumps({"eager_forwards": eager, "replays": replays, "block_scaled_per_forward": per_forward,
                      "tensor_wise_each": OTHERS, "bf16_linear": OTHERS, "triton_add_one": OTHERS}))


if __name__ == "__main__":
    main()
