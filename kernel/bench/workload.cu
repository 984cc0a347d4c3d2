#include <cuda_bf16.h>

#include "kernel/bench/workload.h"
#include "kernel/decomposition.h"

namespace hotproof::kernel::bench {
namespace {

// Element i of A is made of elements i, i + k, ... of D's row, squashed so that chains stay finite.
__global__ void __launch_bounds__(256)
    glue(const __nv_bfloat16* d, int n, __nv_bfloat16* a, int k) {
  const int m = blockIdx.y;
  const int column = (blockIdx.x * 256 + threadIdx.x) * 8;
  if (column >= k) return;
  float sum[8] = {};
  int from = column % n;
  for (int covered = column; covered < n || covered == column; covered += k) {
    const uint4 x = *reinterpret_cast<const uint4*>(d + static_cast<int64_t>(m) * n + from);
    const __nv_bfloat162* pairs = reinterpret_cast<const __nv_bfloat162*>(&x);
    for (int i = 0; i < 4; ++i) {
      sum[2 * i] += __low2float(pairs[i]);
      sum[2 * i + 1] += __high2float(pairs[i]);
    }
    from = (from + k) % n;
  }
  uint4 out;
  __nv_bfloat162* pairs = reinterpret_cast<__nv_bfloat162*>(&out);
  for (int i = 0; i < 4; ++i) {
    pairs[i] = __floats2bfloat162_rn(sum[2 * i] / (1 + fabsf(sum[2 * i])),
                                     sum[2 * i + 1] / (1 + fabsf(sum[2 * i + 1])));
  }
  *reinterpret_cast<uint4*>(a + static_cast<int64_t>(m) * k + column) = out;
}

}  // namespace

Workload::Workload(int layers, Values weights, cudaStream_t stream) : workspace_(64 << 20) {
  size_t bytes = 0, scales = 0;
  std::vector<ShapeId> order;
  for (int layer = 0; layer < layers; ++layer) {
    order.push_back(layer % 4 == 3 ? kQkv : kLinIn);  // three linear-attention layers, one full
    order.push_back(kAttnOut);
    order.push_back(kGateUp);
    order.push_back(kDown);
  }
  const auto count_scales = [](const Shape& s) {
    return static_cast<size_t>(ceil_div(s.n, 128)) * ceil_div(s.k, 128);
  };
  for (ShapeId s : order) {
    bytes += static_cast<size_t>(kShapes[s].n) * kShapes[s].k;
    scales += count_scales(kShapes[s]);
  }
  weights_ = DeviceBuffer<uint8_t>(bytes);
  weight_scales_ = DeviceBuffer<float>(scales);
  fill_e4m3(weights_.get(), bytes, weights, 1, stream);
  fill_random_floats(weight_scales_.get(), scales, 0.5e-4f, 2e-4f, 2, stream);
  const uint8_t* b = weights_.get();
  const float* b_scale = weight_scales_.get();
  for (ShapeId s : order) {
    forward_.push_back({s, b, b_scale});
    b += static_cast<size_t>(kShapes[s].n) * kShapes[s].k;
    b_scale += count_scales(kShapes[s]);
  }
  for (const Shape& s : kShapes) {
    a_bf16_.emplace_back(static_cast<size_t>(kMaxM) * s.k);
    a_.emplace_back(static_cast<size_t>(kMaxM) * s.k);
    a_scale_.emplace_back(static_cast<size_t>(kMaxM) * ceil_div(s.k, 128));
    d_.emplace_back(static_cast<size_t>(kMaxM) * s.n);
    fill_random_bf16(a_bf16_.back().get(), a_bf16_.back().size(), 1.0f, 3 + s.n, stream);
    a_.back().fill_bytes(0);
  }
  HOTPROOF_CHECK(hotproof_fp8_gemm_init_workspace(workspace_.get(), workspace_.size(), stream));
  HOTPROOF_CHECK(cudaStreamSynchronize(stream));
}

std::vector<Gemm> Workload::of_shape(ShapeId shape, int count) const {
  std::vector<Gemm> layers, out;
  for (const Gemm& gemm : forward_) {
    if (gemm.shape == shape) layers.push_back(gemm);
  }
  for (int i = 0; i < count; ++i) out.push_back(layers[i % layers.size()]);
  return out;
}

void Workload::quantise_activations(int m, cudaStream_t stream) {
  for (int s = 0; s < kShapeCount; ++s) {
    const int k = kShapes[s].k;
    HOTPROOF_CHECK(hotproof_quantize_1x128(m, k, a_bf16_[s].get(), k, a_[s].get(), k,
                                           a_scale_[s].get(), 1, scale_stride(m),
                                           HOTPROOF_NO_PROGRAMMATIC_LAUNCH, stream));
  }
}

hotproof_fp8_gemm_args Workload::args(const Gemm& gemm, int m, bool bf16) const {
  hotproof_fp8_gemm_args args = {};
  args.m = m;
  args.n = gemm.n();
  args.k = gemm.k();
  args.a = bf16 ? static_cast<const void*>(a_bf16_[gemm.shape].get()) : a_[gemm.shape].get();
  args.lda = gemm.k();
  args.a_scale = bf16 ? nullptr : a_scale_[gemm.shape].get();
  args.a_scale_stride_m = 1;
  args.a_scale_stride_k = scale_stride(m);
  args.b = gemm.b;
  args.ldb = gemm.k();
  args.b_scale = gemm.b_scale;
  args.b_scale_stride_n = gemm.k() / 128;
  args.b_scale_stride_k = 1;
  args.d = d_[gemm.shape].get();
  args.ldd = gemm.n();
  args.workspace = workspace_.get();
  args.workspace_bytes = workspace_.size();
  return args;
}

void enqueue_glue(const uint16_t* d, int m, int n, uint16_t* a, int k, cudaStream_t stream) {
  glue<<<dim3((k / 8 + 255) / 256, m), 256, 0, stream>>>(reinterpret_cast<const __nv_bfloat16*>(d),
                                                         n, reinterpret_cast<__nv_bfloat16*>(a), k);
  HOTPROOF_CHECK(cudaGetLastError());
}

}  // namespace hotproof::kernel::bench
