"""Further libraries and entry points for shapes_program.py: weight-only kernels, batches by pointers, groups, all
operand orders, old types, products with a vector, experts. Rows as asking.py describes them."""
import ctypes
import os

import torch

from asking import BF16, CUBLAS, E4M3, call, matmul, plain_call, product, randn, row_scales

R16BF, R32F, COMPUTE_32F, TRANSPOSED, PLAIN, DEFAULT_ALGORITHM = 14, 0, 68, 1, 0, -1


def orders(asked):
    """Aligned operands with K inside or outside, batched or not: each of nvjet's four orders."""
    for order in range(4):
        for m, n, k in asked.shapes(30, n_step=8, k_step=8, m_step=8):
            a = randn(m, k) if order & 1 else randn(k, m).t()
            b = randn(n, k).t() if order & 2 else randn(k, n)
            asked.launch("cublas orders", CUBLAS, m, n, k, lambda: a @ b,
                         what=product(BF16, launchers="libcublas", calls=[plain_call(BF16)]))
        for m, n, k in asked.shapes(12, n_step=8, k_step=8, m_step=8, max_m=256, n_steps=32, k_steps=32):
            batch = asked.random.randint(2, 48)
            a = randn(batch, m, k) if order & 1 else randn(batch, k, m).transpose(1, 2)
            b = randn(batch, n, k).transpose(1, 2) if order & 2 else randn(batch, k, n)
            asked.launch("cublas batched orders", CUBLAS, m, n, k, lambda: torch.bmm(a, b), batch,
                         what=product(BF16, launchers="libcublas", calls=[plain_call(BF16, batched=True)]))


def other_types(asked):
    """fp64, complex and int8 products; beta; K, N or M of 1; products with a vector."""
    for dtype in (torch.float64, torch.complex64, torch.complex128):
        for m, n, k in asked.shapes(15, n_step=1, k_step=1, max_m=512, k_steps=512):
            a, b = randn(m, k, dtype=dtype), randn(n, k, dtype=dtype)
            asked.launch(f"cublas {dtype}", CUBLAS, m, n, k, lambda: a @ b.t(),
                         what=product(dtype, launchers="libcublas", calls=[plain_call(dtype)]))
    for m, n, k in asked.shapes(42, n_step=8, k_step=8):
        a, b = (torch.randint(-9, 9, (rows, k), device="cuda", dtype=torch.int8) for rows in (m + 16, n))
        asked.launch("cublas int8", CUBLAS, m + 16, n, k, lambda: torch._int_mm(a, b.t()),
                     what=product(torch.int8, d=torch.int32, launchers="libcublas", calls=[matmul(compute="32I")]))
    for m, n, k in asked.shapes(42, n_step=8, k_step=8):
        a, b, c = randn(m, k), randn(n, k), randn(m, n)
        asked.launch("cublas beta", CUBLAS, m, n, k, lambda: torch.addmm(c, a, b.t(), beta=0.5, alpha=2),
                     what=product(BF16, launchers="libcublas", calls=[plain_call(BF16)]))
    for dim in "mnk":
        for m, n, k in asked.shapes(14, n_step=1, k_step=1):
            m, n, k = (1 if dim == "m" else m), (1 if dim == "n" else n), (1 if dim == "k" else k)
            if asked.is_new(m, n, k):
                a, b = randn(m, k), randn(n, k)
                asked.launch("cublas thin", CUBLAS, m, n, k, lambda: a @ b.t(),
                             what=product(BF16, launchers="libcublas", calls=[plain_call(BF16)]))
    for dtype in (torch.float32, torch.float64):
        for _, n, k in asked.shapes(21, n_step=1, k_step=1, n_steps=4096, k_steps=4096):
            if asked.is_new(1, n, k):
                b, x = randn(n, k, dtype=dtype), randn(k, dtype=dtype)
                b_t = randn(k, n, dtype=dtype).t()
                multiply = [lambda: torch.mv(b, x), lambda: torch.mv(b_t, x)][asked.random.randrange(2)]
                entry_point = "cublasSgemv" if dtype == torch.float32 else "cublasDgemv"
                asked.launch(f"cublas gemv {dtype}", CUBLAS, 1, n, k, multiply,
                             what=product(dtype, launchers="libcublas", calls=[call(entry_point, "")]))


def pointers_of(tensors):
    return torch.tensor([t.data_ptr() for t in tensors], dtype=torch.int64, device="cuda")


def ints(*values):
    return (ctypes.c_int * len(values))(*values)


def pointer_batches(asked):
    """cublasGemmBatchedEx, cublasSgemmBatched and cublasGemmGroupedBatchedEx, as a linked program calls them."""
    blas = ctypes.CDLL(None)
    one, zero = ctypes.c_float(1), ctypes.c_float(0)

    def check(status):
        if status != 0:
            raise RuntimeError(f"cuBLAS status {status}")

    def call_on(handle, function, *args):
        check(function(ctypes.c_void_p(handle), *args))

    for m, n, k in asked.shapes(45, n_step=8, k_step=8, max_m=256, n_steps=32, k_steps=32):
        batch = asked.random.randint(2, 24)
        a, b, d = randn(batch, m, k), randn(batch, n, k), randn(batch, m, n)
        lists = [pointers_of(t) for t in (a, b, d)]
        at = [ctypes.c_void_p(each_list.data_ptr()) for each_list in lists]
        asked.launch("cublas by pointers", CUBLAS, m, n, k, lambda: call_on(
            torch.cuda.current_blas_handle(), blas.cublasGemmBatchedEx, TRANSPOSED, PLAIN, n, m, k, ctypes.byref(one),
            at[1], R16BF, k, at[0], R16BF, k, ctypes.byref(zero), at[2], R16BF, n, batch, COMPUTE_32F,
            DEFAULT_ALGORITHM), batch,
            what=product(BF16, launchers="libcublas", calls=[call("cublasGemmBatchedEx")]))
    for m, n, k in asked.shapes(20, n_step=1, k_step=1, max_m=256):
        batch = asked.random.randint(2, 24)
        a, b, d = (randn(batch, *dims, dtype=torch.float32) for dims in ((m, k), (n, k), (m, n)))
        lists = [pointers_of(t) for t in (a, b, d)]
        at = [ctypes.c_void_p(each_list.data_ptr()) for each_list in lists]
        asked.launch("cublas by pointers, fp32", CUBLAS, m, n, k, lambda: call_on(
            torch.cuda.current_blas_handle(), blas.cublasSgemmBatched, TRANSPOSED, PLAIN, n, m, k, ctypes.byref(one),
            at[1], k, at[0], k, ctypes.byref(zero), at[2], n, batch), batch,
            what=product(torch.float32, launchers="libcublas", calls=[call("cublasSgemmBatched", "")]))
    for m, n, k in asked.shapes(45, n_step=8, k_step=8, max_m=256, n_steps=32, k_steps=32):
        groups, each = asked.random.randint(1, 4), asked.random.randint(1, 6)
        total = groups * each
        a, b, d = randn(total, m, k), randn(total, n, k), randn(total, m, n)
        lists = [pointers_of(t) for t in (a, b, d)]
        at = [ctypes.c_void_p(each_list.data_ptr()) for each_list in lists]
        same = lambda value: ints(*[value] * groups)  # noqa: E731
        ones, zeros = (ctypes.c_float * groups)(*[1] * groups), (ctypes.c_float * groups)()
        asked.launch("cublas groups", CUBLAS, m, n, k, lambda: call_on(
            torch.cuda.current_blas_handle(), blas.cublasGemmGroupedBatchedEx, same(TRANSPOSED), same(PLAIN), same(n),
            same(m), same(k), ones, at[1], R16BF, same(k), at[0], R16BF, same(k), zeros, at[2], R16BF, same(n),
            groups, same(each), COMPUTE_32F), total,
            what=product(BF16, launchers="libcublas", calls=[call("cublasGemmGroupedBatchedEx")]))


def torch_grouped(asked):
    """Groups of rows: how many rows each has lies in device memory."""
    groups = 4
    for m, n, k in asked.shapes(10, n_step=16, k_step=16, m_step=64, max_m=2048):
        a, b = randn(m, k), randn(groups, n, k).transpose(1, 2)
        ends = torch.tensor([m // 4 * (i + 1) for i in range(groups)], dtype=torch.int32, device="cuda")
        asked.launch("torch groups", ["cutlass_torch"], None, None, None,
                     lambda: torch._grouped_mm(a, b, offs=ends))
    for m, n, k in asked.shapes(10, n_step=16, k_step=16, m_step=64, max_m=2048):
        a, b = randn(m, k, dtype=E4M3), randn(groups, n, k, dtype=E4M3).transpose(1, 2)
        rows, columns = torch.rand(m, device="cuda"), torch.rand(groups, n, device="cuda")
        ends = torch.tensor([m // 4 * (i + 1) for i in range(groups)], dtype=torch.int32, device="cuda")
        asked.launch("torch FP8 groups", ["other"], None, None, None,
                     lambda: torch._scaled_grouped_mm(a, b, rows, columns, offs=ends, out_dtype=BF16))


def packed_weight(n, k):
    return torch.randint(-2**31, 2**31 - 1, (k // 8, n), dtype=torch.int32, device="cuda")


def marlin(asked):
    from vllm import _custom_ops as ops
    from vllm.model_executor.layers.quantization.utils.marlin_utils import marlin_make_workspace_new
    from vllm.scalar_type import scalar_types
    workspace = marlin_make_workspace_new(torch.device("cuda", 0))
    nothing = torch.empty(0, dtype=torch.int32, device="cuda")
    for m, n, k in asked.shapes(45, n_step=64, k_step=128, max_m=512, n_steps=64, k_steps=32):
        a, scales = randn(m, k), torch.rand(k // 128, n, device="cuda").to(BF16)
        weight = ops.gptq_marlin_repack(packed_weight(n, k), nothing, k, n, 4)
        asked.launch("vllm marlin", ["marlin"], m, n, k, lambda: ops.marlin_gemm(
            a, None, weight, None, scales, None, None, None, None, None, workspace, scalar_types.uint4b8, m, n, k,
            use_fp32_reduce=True), in_parts=True,
            # One group is a channel.
            what=product(BF16, "u4b8", BF16, scaling="group" if k > 128 else "channel", launchers="/vllm/"))


def machete(asked):
    from vllm import _custom_ops as ops
    from vllm.scalar_type import scalar_types
    for m, n, k in asked.shapes(45, n_step=128, k_step=128, n_steps=64, k_steps=32):
        a, scales = randn(m, k), torch.rand(k // 128, n, device="cuda").to(BF16)
        weight = ops.machete_prepack_B(packed_weight(n, k).t().contiguous().t(), BF16, scalar_types.uint4b8, BF16)
        asked.launch("vllm machete", ["machete"], m, n, k, lambda: ops.machete_mm(
            a, weight, scalar_types.uint4b8, b_group_scales=scales, b_group_size=128),
            what=product(BF16, "u4b8", BF16, scaling="group", launchers="/vllm/"))


def vllm_more(asked):
    """CUTLASS with scales of rows, int8 and a bias; the Triton kernel for what CUTLASS does not take."""
    from vllm import _custom_ops as ops
    from vllm.model_executor.layers.quantization.compressed_tensors.triton_scaled_mm import triton_scaled_mm
    for dtype in (E4M3, torch.int8):
        for m, n, k in asked.shapes(45, n_step=16, k_step=16):
            a, b, bias = randn(m, k, dtype=dtype), randn(n, k, dtype=dtype), randn(n)
            rows, columns = torch.rand(m, 1, device="cuda"), torch.rand(1, n, device="cuda")
            if asked.random.random() < 0.5:
                bias = None
            asked.launch(f"vllm cutlass rows {dtype}", ["cutlass_vllm"], m, n, k,
                         lambda: ops.cutlass_scaled_mm(a, b.t(), rows, columns, BF16, bias),
                         what=product(dtype, d=BF16, scaling=row_scales(m), launchers="/vllm/"))
    for m, n, k in asked.shapes(45, n_step=1, k_step=1, n_steps=4096, k_steps=4096):
        a, b = (randn(rows, k, dtype=torch.float32).clamp(-9, 9).to(torch.int8) for rows in (m, n))
        rows, columns = torch.rand(m, 1, device="cuda"), torch.rand(n, 1, device="cuda")
        asked.launch("vllm triton scaled", ["triton"], m, n, k,
                     lambda: triton_scaled_mm(a, b.t(), rows, columns, BF16),
                     what=product(torch.int8, d=BF16, scaling="token_channel", launchers="triton"))


def vllm_scales(asked):
    """CUTLASS with each operand scaled by a vector or by one number, by few tokens (which exchanges the operands) and
    many. They share kernels."""
    from vllm import _custom_ops as ops
    for dtype in (E4M3, torch.int8):
        for scaling in ("tensor", "token", "channel", "token_channel"):
            for max_m in (64, 4096):
                for m, n, k in asked.shapes(9, n_step=16, k_step=16, m_step=2, max_m=max_m):
                    a, b = randn(m, k, dtype=dtype), randn(n, k, dtype=dtype)
                    rows = torch.rand(m if "token" in scaling else 1, 1, device="cuda")
                    columns = torch.rand(1, n if "channel" in scaling else 1, device="cuda")
                    bias = randn(n) if asked.random.random() < 0.5 else None
                    asked.launch(f"vllm cutlass {scaling} {dtype}", ["cutlass_vllm"], m, n, k,
                                 lambda: ops.cutlass_scaled_mm(a, b.t(), rows, columns, BF16, bias),
                                 what=product(dtype, d=BF16, scaling=scaling, launchers="/vllm/"))


def vllm_experts(asked):
    """Router and fused down projection: their extents are compiled in. Always the same few shapes."""
    from vllm import _custom_ops as ops
    for n in (256, 384):
        b = randn(n, 7168)
        for m in range(1, 17):
            a = randn(m, 7168)
            for dtype in (BF16, torch.float32):
                asked.launch("vllm router", ["moe"], m, n, 7168, lambda: ops.dsv3_router_gemm(a, b, dtype),
                             what={**product(BF16, launchers="/vllm/"), "d": None})  # one shape, two types of D
    b = randn(2112, 7168)
    for m in range(1, 17):
        a, d = randn(m, 7168), randn(m, 2112)
        asked.launch("vllm fused a", ["other"], m, 2112, 7168, lambda: ops.dsv3_fused_a_gemm(d, a, b.t()), eager=30,
                     what=product(BF16, launchers="/vllm/"))


def deep_gemm_grouped(asked):
    try:
        import deep_gemm as library
    except ImportError:
        from vllm.third_party import deep_gemm as library
    groups = 3
    for m, n, k in asked.shapes_of_few_weights(2, 9, max_m=2048, m_step=128 * groups):
        a, b, d = randn(m, k, dtype=E4M3), randn(groups, n, k, dtype=E4M3), randn(m, n)
        scale_a = torch.rand(k // 128, m, device="cuda").t()
        scale_b = torch.rand(groups, n // 128, k // 128, device="cuda")
        group_of = torch.arange(groups, device="cuda", dtype=torch.int32).repeat_interleave(m // groups)
        asked.launch("deep_gemm groups", ["deep_gemm", "moe"], m, n, k, lambda: (
            library.m_grouped_fp8_gemm_nt_contiguous((a, scale_a), (b, scale_b), d, group_of)), eager=60,
            what=product(E4M3, d=BF16, scaling="block", launchers="deep_gemm"))


def flashinfer_bmm(asked):
    from flashinfer import bmm_fp8
    one = torch.ones((), device="cuda")
    for m, n, k in asked.shapes(42, n_step=16, k_step=16, max_m=512, n_steps=32, k_steps=32):
        batch = asked.random.randint(2, 12)
        a, b = randn(batch, m, k, dtype=E4M3), randn(batch, n, k, dtype=E4M3).transpose(1, 2)
        asked.launch("flashinfer bmm", CUBLAS, m, n, k, lambda: bmm_fp8(a, b, one, one, BF16, backend="cublas"), batch,
                     what=product(E4M3, d=BF16, scaling="tensor", launchers="libcublas", calls=[matmul()]))


def sgl(asked):
    """sgl-kernel's CUTLASS with scales of rows; HOTPROOF_SGL_KERNEL names its common_ops library."""
    library = os.environ.get("HOTPROOF_SGL_KERNEL", "")
    torch.ops.load_library(library)
    operators = torch.ops.sgl_kernel
    for dtype, multiply in ((E4M3, operators.fp8_scaled_mm), (torch.int8, operators.int8_scaled_mm)):
        for m, n, k in asked.shapes(45, n_step=16, k_step=16):
            a, b = randn(m, k, dtype=dtype), randn(n, k, dtype=dtype)
            rows, columns = torch.rand(m, 1, device="cuda"), torch.rand(n, 1, device="cuda")
            bias = randn(n) if asked.random.random() < 0.5 else None
            asked.launch(f"sgl-kernel rows {dtype}", ["other", "cutlass_vllm"], m, n, k,
                         lambda: multiply(a, b.t(), rows, columns, BF16, bias),
                         what=product(dtype, d=BF16, scaling=row_scales(m), launchers=os.path.basename(library)))


FUNCTIONS = (orders, other_types, pointer_batches, torch_grouped, marlin, machete, vllm_more, vllm_scales,
             vllm_experts, deep_gemm_grouped, flashinfer_bmm, sgl)
