"""Launches matrix products of each library that is present at random shapes, eagerly and through a CUDA
graph, and writes what it asked for. Run under the tracer; compare_shapes.py holds the report against it.

    hotproof run -o DIR -- python3 shapes_program.py ASKED.json [SEED [LIBRARY]]
    python3 shapes_program.py --list

ASKED.json: rows as asking.py describes them. A library that cannot be used is named on stderr; exit code 3 if it
is the one that was asked for.
"""
import ctypes
import json
import os
import sys

import torch

import more_shapes
from asking import BF16, BLOCKS, CUBLAS, E4M3, EAGER, ROWS, Asked, matmul, plain_call, product, randn


def cublas(asked):
    """cublasGemmEx, S and H gemm, strided batches, transposed operands, split K (small M and N, large K)."""
    for dtype in (BF16, torch.float16, torch.float32):
        for m, n, k in asked.shapes(60, n_step=1 if dtype == torch.float32 else 3, k_step=1):
            a, b = randn(m, k, dtype=dtype), randn(n, k, dtype=dtype)
            a_t, b_t = randn(k, m, dtype=dtype), randn(k, n, dtype=dtype)
            multiply = [lambda: a @ b.t(), lambda: a @ b_t, lambda: a_t.t() @ b.t(),
                        lambda: a_t.t() @ b_t][asked.random.randrange(4)]
            asked.launch(f"cublas {dtype}", CUBLAS, m, n, k, multiply,
                         what=product(dtype, launchers="libcublas", calls=[plain_call(dtype)]))
    for m, n, k in asked.shapes(60, n_step=8, k_step=8, max_m=256, n_steps=32, k_steps=32):
        batch = asked.random.randint(2, 48)
        a, b = randn(batch, m, k), randn(batch, k, n)
        asked.launch("cublas batched", CUBLAS, m, n, k, lambda: torch.bmm(a, b), batch,
                     what=product(BF16, launchers="libcublas", calls=[plain_call(BF16, batched=True)]))
    for m, n, k in asked.shapes(45, n_step=8, k_step=8192, max_m=16, n_steps=24, k_steps=4):
        a, b = randn(m, k), randn(n, k)
        asked.launch("cublas split K", CUBLAS, m, n, k, lambda: a @ b.t(),
                     what=product(BF16, launchers="libcublas", calls=[plain_call(BF16)]))


def cublaslt(asked):
    """Bias epilogues, FP8 with tensor-wise and block scales."""
    for m, n, k in asked.shapes(50, n_step=8, k_step=8):
        a, b, bias = randn(m, k), randn(n, k), randn(n)
        # Of one row torch may add the bias otherwise.
        calls = [matmul("BIAS")] + [plain_call(BF16)] * (m == 1)
        asked.launch("cublaslt bias", CUBLAS, m, n, k, lambda: torch.addmm(bias, a, b.t()),
                     what=product(BF16, launchers="libcublas", calls=calls))
    one = torch.ones((), device="cuda")
    for m, n, k in asked.shapes(50, n_step=16, k_step=16):
        a, b = randn(m, k, dtype=E4M3), randn(n, k, dtype=E4M3)
        asked.launch("cublaslt tensor-wise", CUBLAS, m, n, k,
                     lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=BF16),
                     what=product(E4M3, d=BF16, scaling="tensor", launchers="libcublas", calls=[matmul()]))
    for m, n, k in asked.shapes(50, n_step=128, k_step=512, m_step=4, n_steps=64, k_steps=12):
        a, b = randn(m, k, dtype=E4M3), randn(n, k, dtype=E4M3)
        scale_a = torch.rand(k // 128, m, device="cuda").t()
        scale_b = torch.rand(n // 128, k // 128, device="cuda").t()
        asked.launch("cublaslt block", CUBLAS, m, n, k,
                     lambda: torch._scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=BF16),
                     what=product(E4M3, d=BF16, scaling="block", launchers="libcublas",
                                  calls=[matmul(scales=BLOCKS)]))


def torch_cutlass(asked):
    for m, n, k in asked.shapes(50, n_step=16, k_step=16):
        a, b = randn(m, k, dtype=E4M3), randn(n, k, dtype=E4M3)
        rows, columns = torch.rand(m, 1, device="cuda"), torch.rand(1, n, device="cuda")
        asked.launch("torch row-wise", ["cutlass_torch"] + CUBLAS, m, n, k,
                     lambda: torch._scaled_mm(a, b.t(), rows, columns, out_dtype=BF16),
                     what=product(E4M3, d=BF16, scaling="token_channel", launchers="libcublas",
                                  calls=[matmul(scales=ROWS)]))


def quantised(m, n, k):
    return (randn(m, k, dtype=E4M3), randn(n, k, dtype=E4M3),
            torch.rand(k // 128, m, device="cuda").t(), torch.rand(n // 128, k // 128, device="cuda"))


def vllm_cutlass(asked):
    from vllm import _custom_ops as ops
    for m, n, k in asked.shapes(50, n_step=128, k_step=128, n_steps=64, k_steps=32):
        a, b, scale_a, scale_b = quantised(m, n, k)
        asked.launch("vllm cutlass block", ["cutlass_vllm"], m, n, k,
                     lambda: ops.cutlass_scaled_mm(a, b.t(), scale_a, scale_b.t(), BF16),
                     what=product(E4M3, d=BF16, scaling="block", launchers="/vllm/"))
    one = torch.ones(1, device="cuda")
    for m, n, k in asked.shapes(50, n_step=16, k_step=16):
        a, b = randn(m, k, dtype=E4M3), randn(n, k, dtype=E4M3)
        asked.launch("vllm cutlass tensor-wise", ["cutlass_vllm"], m, n, k,
                     lambda: ops.cutlass_scaled_mm(a, b.t(), one, one, BF16),
                     what=product(E4M3, d=BF16, scaling="tensor", launchers="/vllm/"))


def vllm_triton(asked):
    from vllm.model_executor.layers.quantization.utils import fp8_utils
    for m, n, k in asked.shapes(50, n_step=128, k_step=128, n_steps=64, k_steps=32):
        a, b, scale_a, scale_b = quantised(m, n, k)
        scale_a = scale_a.contiguous()
        asked.launch("vllm triton block", ["triton"], m, n, k,
                     lambda: fp8_utils.w8a8_triton_block_scaled_mm(a, b, scale_a, scale_b, [128, 128], BF16),
                     what=product(E4M3, d=BF16, scaling="block", launchers="triton"))


def deep_gemm(asked):
    try:
        import deep_gemm as library
    except ImportError:
        from vllm.third_party import deep_gemm as library
    for m, n, k in asked.shapes_of_few_weights(9, 6, max_m=4096, m_step=4):
        a, b, scale_a, scale_b = quantised(m, n, k)
        d = torch.empty(m, n, device="cuda", dtype=BF16)
        asked.launch("deep_gemm", ["deep_gemm"], m, n, k,
                     lambda: library.fp8_gemm_nt((a, scale_a), (b, scale_b), d),
                     what=product(E4M3, d=BF16, scaling="block", launchers="deep_gemm"))


def flashinfer(asked, max_m=31, min_m=1, weights=5, per_weight=12, eager=EAGER):
    """Below 32 rows its kernel exchanges the operands."""
    from flashinfer.gemm import fp8_blockscale_gemm_sm90
    for m, n, k in asked.shapes_of_few_weights(weights, per_weight, max_m=max_m, min_m=min_m):
        a, (_, b, _, scale_b) = randn(m, k), quantised(4, n, k)
        asked.launch("flashinfer", ["flashinfer"], m, n, k,
                     lambda: fp8_blockscale_gemm_sm90(a, b, weight_scale=scale_b), eager=eager,
                     what=product(E4M3, d=BF16, scaling="block", launchers="flashinfer"))


def flashinfer_rows(asked):
    """Few weights: a kernel is compiled for each, and for each tile."""
    flashinfer(asked, max_m=4096, min_m=32, weights=3, per_weight=17, eager=21)


def ours(asked):
    """kernel/fp8_gemm.h through ctypes; HOTPROOF_FP8_GEMM names the library."""
    library = ctypes.CDLL(os.environ.get("HOTPROOF_FP8_GEMM", "libhotproof_fp8_gemm.so"))
    pointer, i32, i64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64

    class Args(ctypes.Structure):
        _fields_ = [("m", i32), ("n", i32), ("k", i32), ("flags", ctypes.c_uint32), ("a", pointer),
                    ("lda", i64), ("a_scale", pointer), ("a_scale_m", i64), ("a_scale_k", i64),
                    ("b", pointer), ("ldb", i64), ("b_scale", pointer), ("b_scale_n", i64),
                    ("b_scale_k", i64), ("d", pointer), ("ldd", i64), ("workspace", pointer),
                    ("workspace_bytes", ctypes.c_size_t)]

    for m, n, k in asked.shapes(50, n_step=8, k_step=16, max_m=128, n_steps=1024, k_steps=512):
        blocks = -(-k // 128)
        a, b = randn(m, k, dtype=E4M3), randn(n, k, dtype=E4M3)
        scale_a = torch.rand(m, blocks, device="cuda")
        scale_b = torch.rand(-(-n // 128), blocks, device="cuda")
        d = torch.empty(m, n, device="cuda", dtype=BF16)
        size = ctypes.c_size_t()
        if library.hotproof_fp8_gemm_workspace(m, n, k, ctypes.byref(size), None) != 0:
            raise RuntimeError("hotproof_fp8_gemm_workspace")
        workspace = torch.zeros(max(size.value, 1), device="cuda", dtype=torch.uint8)
        args = Args(m, n, k, 0, a.data_ptr(), k, scale_a.data_ptr(), blocks, 1, b.data_ptr(), k,
                    scale_b.data_ptr(), blocks, 1, d.data_ptr(), n, workspace.data_ptr(), size.value)

        def multiply():
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            if library.hotproof_fp8_gemm(ctypes.byref(args), stream) != 0:
                raise RuntimeError("hotproof_fp8_gemm")
        asked.launch("hotproof", ["custom"], m, n, k, multiply,
                     what=product(E4M3, d=BF16, scaling="block", launchers="hotproof_fp8_gemm"))


LIBRARIES = {function.__name__: function for function in (
    cublas, cublaslt, torch_cutlass, vllm_cutlass, vllm_triton, deep_gemm, flashinfer, flashinfer_rows, ours,
    *more_shapes.FUNCTIONS)}


def main():
    if sys.argv[1:] == ["--list"]:
        print(*LIBRARIES)
        return 0
    asked = Asked(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    absent = 0
    for name in sys.argv[3:4] or LIBRARIES:
        try:
            LIBRARIES[name](asked)
        except (ImportError, OSError, AttributeError, RuntimeError, TypeError, ValueError, AssertionError) as error:
            absent += 1
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    with open(sys.argv[1], "w") as out:
        json.dump(asked.finished(), out, indent=1)
    return 3 if sys.argv[3:4] and absent else 0


if __name__ == "__main__":
    sys.exit(main())
