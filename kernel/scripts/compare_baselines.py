#!/usr/bin/env python3
"""Times the FP8 GEMM beside torch's, Triton's and vLLM's block-scaled GEMMs, in one process.

All methods compute D[M,N] (bf16) from the same e4m3 A [M,K] and B [N,K], fp32 scales 1x128 and 128x128,
through CUDA graphs over weights that rotate over at least 4 times the L2; replays are interleaved, the
median is reported. A result outside 2^-8 |ref| + 2^-13 sum |ab| (fp64 on the GPU) is printed and not timed.
What is not installed is named and skipped.

  compare_baselines.py --library libhotproof_fp8_gemm.so [--m 8,16] [--replays 200] [--json FILE]
                       [--only PREFIX,...] [--without PREFIX,...]   baselines by the beginning of their names

Units: microseconds a GEMM. Needs torch >= 2.8 on a Hopper GPU.
"""

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys

import torch

SHAPES = {"gate_up": (34816, 5120), "down": (5120, 17408), "attn_out": (5120, 6144),
          "lin_in": (16384, 5120), "qkv": (14336, 5120)}


class Args(ctypes.Structure):
    """hotproof_fp8_gemm_args of kernel/fp8_gemm.h."""
    _fields_ = [("m", ctypes.c_int32), ("n", ctypes.c_int32), ("k", ctypes.c_int32),
                ("flags", ctypes.c_uint32), ("a", ctypes.c_void_p), ("lda", ctypes.c_int64),
                ("a_scale", ctypes.c_void_p), ("a_scale_stride_m", ctypes.c_int64),
                ("a_scale_stride_k", ctypes.c_int64), ("b", ctypes.c_void_p), ("ldb", ctypes.c_int64),
                ("b_scale", ctypes.c_void_p), ("b_scale_stride_n", ctypes.c_int64),
                ("b_scale_stride_k", ctypes.c_int64), ("d", ctypes.c_void_p), ("ldd", ctypes.c_int64),
                ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_size_t)]


class Problem:
    """One shape at one M: a [m,k], a_scale [m,k/128], `copies` weights b [n,k] with b_scale [n/128,k/128]."""

    def __init__(self, m, n, k, copies):
        self.m, self.n, self.k = m, n, k
        normal = lambda rows: (torch.randn(rows, k, device="cuda") * 112).clamp(-448, 448)
        self.a = normal(m).to(torch.float8_e4m3fn)
        self.a_scale = torch.rand(m, k // 128, device="cuda") * 1e-2 + 1e-3
        self.a_scale_m_major = self.a_scale.T.contiguous()
        self.b = [normal(n).to(torch.float8_e4m3fn) for _ in range(copies)]
        self.b_scale = [torch.rand(n // 128, k // 128, device="cuda") * 1e-2 + 1e-3 for _ in range(copies)]

    def reference(self, i):
        """(value, magnitude) in fp64 for weights i."""
        a = self.a.double() * self.a_scale.double().repeat_interleave(128, 1)
        b = self.b[i].double()
        b *= self.b_scale[i].double().repeat_interleave(128, 0).repeat_interleave(128, 1)
        return a @ b.T, a.abs() @ b.abs().T


def hotproof(path, m_major):
    """With A's scales M-major, as the other methods get them, or row by row."""
    library = ctypes.CDLL(os.path.abspath(path))
    library.hotproof_status_string.restype = ctypes.c_char_p

    def check(status):
        if status != 0:
            raise RuntimeError(library.hotproof_status_string(status).decode())

    workspace = torch.zeros(64 << 20, dtype=torch.uint8, device="cuda")

    def run(p, i, out):
        scale, strides = (p.a_scale_m_major, (1, p.m)) if m_major else (p.a_scale, (p.k // 128, 1))
        args = Args(p.m, p.n, p.k, 0, p.a.data_ptr(), p.k, scale.data_ptr(), *strides,
                    p.b[i].data_ptr(), p.k, p.b_scale[i].data_ptr(), p.k // 128, 1, out.data_ptr(), p.n,
                    workspace.data_ptr(), workspace.numel())
        check(library.hotproof_fp8_gemm(ctypes.byref(args),
                                        ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)))
        return out
    return run


def torch_row_wise(p):
    """torch._scaled_mm with one scale a row: another scaling, so timed only, never compared."""
    a_scale = torch.ones(p.m, 1, device="cuda")
    b_scale = torch.ones(1, p.n, device="cuda")
    return lambda p, i, out: torch._scaled_mm(p.a, p.b[i].T, a_scale, b_scale, out_dtype=torch.bfloat16,
                                              use_fast_accum=True)


def torch_block(p):
    """torch's 1x128 / 128x128 scaled matmul (2.10 and later, through cuBLASLt). Its layout of B's scales has
    changed between versions: the first that gives the right result is used."""
    from torch.nn.functional import ScalingType, SwizzleType, scaled_mm
    a_scale = p.a_scale.T.contiguous().T  # M-major
    layouts = [lambda s: s.T, lambda s: s.T.contiguous(), lambda s: s, lambda s: s.T.contiguous().T]

    def make(layout):
        scales = [layout(s) for s in p.b_scale]
        return lambda p, i, out: scaled_mm(
            p.a, p.b[i].T, a_scale, ScalingType.BlockWise1x128, scales[i], ScalingType.BlockWise128x128,
            SwizzleType.NO_SWIZZLE, SwizzleType.NO_SWIZZLE, output_dtype=torch.bfloat16)
    reference, problem = p.reference(0), None
    for layout in layouts:
        try:
            run = make(layout)
            if inside_bound(p, run(p, 0, None), reference)[0]:
                return run
        except Exception as error:
            problem = error
    raise problem or RuntimeError("no layout of B's scales gives the right result")


def triton_block(p):
    """A block-scaled matmul in Triton, tuned over tile sizes and split-K-free grids."""
    import triton
    import triton.language as tl

    configs = [triton.Config({"BM": bm, "BN": bn}, num_warps=w, num_stages=s)
               for bm in ((16,) if p.m <= 16 else (32, 64) if p.m <= 64 else (64, 128))
               for bn, w, s in ((32, 4, 5), (32, 4, 8), (64, 4, 4), (64, 4, 6), (128, 4, 4), (128, 8, 4))]

    @triton.autotune(configs=configs, key=["N", "K", "M_PADDED"])
    @triton.jit
    def kernel(a, sa, b, sb, d, M, N, K, M_PADDED: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
        rows = tl.program_id(1) * BM + tl.arange(0, BM)
        columns = tl.program_id(0) * BN + tl.arange(0, BN)
        ks = tl.arange(0, 128)
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for block in range(0, K // 128):
            x = tl.load(a + rows[:, None] * K + block * 128 + ks[None, :], mask=rows[:, None] < M, other=0.0)
            w = tl.load(b + columns[None, :] * K + block * 128 + ks[:, None])
            row_scale = tl.load(sa + rows * (K // 128) + block, mask=rows < M, other=0.0)
            scale = tl.load(sb + (columns // 128) * (K // 128) + block)
            total += tl.dot(x, w) * row_scale[:, None] * scale[None, :]
        tl.store(d + rows[:, None] * N + columns[None, :], total.to(tl.bfloat16), mask=rows[:, None] < M)

    def run(p, i, out):
        grid = lambda meta: (p.n // meta["BN"], (p.m + meta["BM"] - 1) // meta["BM"])
        kernel[grid](p.a, p.a_scale, p.b[i], p.b_scale[i], out, p.m, p.n, p.k, M_PADDED=(p.m + 15) // 16)
        return out
    return run


def vllm_cutlass(p):
    from vllm import _custom_ops as ops
    a_scale = p.a_scale.T.contiguous().T
    return lambda p, i, out: ops.cutlass_scaled_mm(p.a, p.b[i].T, a_scale, p.b_scale[i].T, torch.bfloat16)


def vllm_deep_gemm(p):
    from vllm.utils import deep_gemm
    a_scale = p.a_scale.T.contiguous().T
    return lambda p, i, out: deep_gemm.fp8_gemm_nt((p.a, a_scale), (p.b[i], p.b_scale[i]), out) or out


def vllm_flashinfer(p):
    """FlashInfer's swapAB GEMM as vLLM calls it below 32 rows: bf16 A, quantised by the call."""
    from flashinfer.gemm import fp8_blockscale_gemm_sm90
    a = (p.a.float() * p.a_scale.repeat_interleave(128, 1)).bfloat16()
    return lambda p, i, out: fp8_blockscale_gemm_sm90(a, p.b[i], None, p.b_scale[i], out=out)


BASELINES = {"torch row-wise": (torch_row_wise, False), "torch 1x128/128x128": (torch_block, True),
             "triton": (triton_block, True), "vllm cutlass": (vllm_cutlass, True),
             "vllm deep_gemm": (vllm_deep_gemm, True), "vllm flashinfer swapAB, with quantiser": (vllm_flashinfer, False)}


def inside_bound(p, out, reference):
    value, magnitude = reference
    excess = (out.double() - value).abs() - (value.abs() / 256 + magnitude / 8192)
    return bool((excess <= 0).all()), float(excess.max())


class Recorded:
    """`count` GEMMs of a method in a graph. A graph keeps only what was allocated while it was captured: the method
    (its scales, its compiled kernels) and its output are kept here. torch gives freed memory back to the driver
    before every capture, so that a graph whose tensors are gone reads or writes what is no longer mapped."""

    def __init__(self, run, p, out):
        self.needs = (run, p, out)
        self.graph, self.count = graph_of(run, p, out)


def graph_of(run, p, out):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for i in range(len(p.b)):
            run(p, i, out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(max(1, 24 // len(p.b))):
            for i in range(len(p.b)):
                run(p, i, out)
    return graph, max(1, 24 // len(p.b)) * len(p.b)


def clocks():
    query = "name,driver_version,clocks.sm,clocks.mem,clocks_event_reasons.active,power.draw"
    done = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
                          capture_output=True, text=True)
    return done.stdout.strip()


def write_json(path, records, state):
    """After every shape: what was measured stays when a later baseline hangs."""
    if path:
        with open(path, "w") as file:
            json.dump({"command": " ".join(sys.argv), "torch": torch.__version__, "gpu_state": state,
                       "records": records}, file, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--m", default="8")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--replays", type=int, default=200)
    parser.add_argument("--only", default="")
    parser.add_argument("--without", default="-")
    parser.add_argument("--json")
    options = parser.parse_args()
    ours = {"hotproof": hotproof(options.library, True),
            "hotproof, scales row by row": hotproof(options.library, False)}
    only, without = tuple(options.only.split(",")), tuple(options.without.split(","))
    methods = {name: (lambda p, run=run: run, True) for name, run in ours.items()}
    methods |= {name: method for name, method in BASELINES.items()
                if name.startswith(only) and not name.startswith(without)}
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    records = []
    for m in map(int, options.m.split(",")):
        for name in options.shapes.split(","):
            n, k = SHAPES[name]
            p = Problem(m, n, k, max(2, -(-4 * l2_bytes // (n * k))))
            reference = p.reference(0)
            graphs = {}
            for method, (make, compared) in methods.items():
                out = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
                try:
                    run = make(p)
                    result = run(p, 0, out)
                    torch.cuda.synchronize()
                    if compared:
                        good, excess = inside_bound(p, result, reference)
                        if not good:
                            print(f"{name} M {m} {method}: outside the bound by {excess:.3g}, not timed", flush=True)
                            continue
                    graphs[method] = Recorded(run, p, out)
                except Exception as error:  # a baseline that is missing must not stop the others
                    print(f"{name} M {m} {method}: skipped ({type(error).__name__}: {str(error)[:120]})",
                          flush=True)
                    if method in ours:
                        sys.exit(1)
            times = {method: [] for method in graphs}
            for replay in range(options.replays + 2):
                for method, recorded in graphs.items():
                    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                    start.record()
                    recorded.graph.replay()
                    end.record()
                    times[method].append((start, end, recorded.count))
            torch.cuda.synchronize()
            for method, events in times.items():
                us = [s.elapsed_time(e) * 1e3 / count for s, e, count in events[2:]]
                records.append({"shape": name, "m": m, "method": method, "us": statistics.median(us),
                                "replays": len(us)})
                print(f"{name:9} M {m:3} {method:40} {statistics.median(us):8.2f} us", flush=True)
            state = clocks()
            write_json(options.json, records, state)
            del p, graphs, times, reference, run, result, out
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
