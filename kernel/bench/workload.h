// The reference workload: the 256 block-FP8 GEMMs of one forward pass of a 27B hybrid model, in
// model order, every one with its own cold weights. Owned by the benchmark's main thread.
#ifndef HOTPROOF_KERNEL_BENCH_WORKLOAD_H_
#define HOTPROOF_KERNEL_BENCH_WORKLOAD_H_

#include <string>
#include <vector>

#include "kernel/bench/gpu.h"

namespace hotproof::kernel::bench {

struct Shape {
  const char* name;
  int n, k;
};
enum ShapeId { kGateUp, kDown, kAttnOut, kLinIn, kQkv, kShapeCount };
inline constexpr Shape kShapes[kShapeCount] = {{"gate_up", 34816, 5120},
                                               {"down", 5120, 17408},
                                               {"attn_out", 5120, 6144},
                                               {"lin_in", 16384, 5120},
                                               {"qkv", 14336, 5120}};
inline constexpr int kMaxM = 128;

struct Gemm {
  ShapeId shape;
  const uint8_t* b;
  const float* b_scale;  // [n / 128][k / 128]
  int n() const { return kShapes[shape].n; }
  int k() const { return kShapes[shape].k; }
  size_t weight_bytes() const { return static_cast<size_t>(n()) * k(); }
};

// Weights: 24.33 GB when `layers` is 64. Activations: one set per shape, kMaxM rows, in bf16 and
// quantised (scales M-major as cuBLASLt wants them, element (m, kb) at kb * m_stride + m for the
// m_stride given to quantise_activations). Outputs: one buffer per shape.
class Workload {
 public:
  Workload(int layers, Values weights, cudaStream_t stream);

  const std::vector<Gemm>& forward() const { return forward_; }
  // Up to `count` GEMMs of one shape, repeating its layers when there are fewer.
  std::vector<Gemm> of_shape(ShapeId shape, int count) const;

  // Quantises m rows of the bf16 activations of every shape; scales with M-stride 1, K-stride
  // scale_stride(m).
  void quantise_activations(int m, cudaStream_t stream);
  static int scale_stride(int m) { return (m + 3) / 4 * 4; }

  const uint16_t* a_bf16(ShapeId s) const { return a_bf16_[s].get(); }
  uint16_t* a_bf16(ShapeId s) { return a_bf16_[s].get(); }
  uint8_t* a(ShapeId s) const { return a_[s].get(); }
  float* a_scale(ShapeId s) const { return a_scale_[s].get(); }
  uint16_t* d(ShapeId s) const { return d_[s].get(); }
  uint8_t* workspace() const { return workspace_.get(); }
  size_t workspace_bytes() const { return workspace_.size(); }

  // The ABI's arguments for one of the GEMMs; `bf16`: for the fused entry point.
  hotproof_fp8_gemm_args args(const Gemm& gemm, int m, bool bf16) const;

 private:
  DeviceBuffer<uint8_t> weights_;
  DeviceBuffer<float> weight_scales_;
  std::vector<DeviceBuffer<uint16_t>> a_bf16_, d_;
  std::vector<DeviceBuffer<uint8_t>> a_;
  std::vector<DeviceBuffer<float>> a_scale_;
  DeviceBuffer<uint8_t> workspace_;
  std::vector<Gemm> forward_;
};

// What stands between two GEMMs of a model and knows nothing of programmatic launch: reads all of
// d[m][n] (bf16) and writes a[m][k] (bf16). Launched as an ordinary kernel.
void enqueue_glue(const uint16_t* d, int m, int n, uint16_t* a, int k, cudaStream_t stream);

}  // namespace hotproof::kernel::bench

#endif  // HOTPROOF_KERNEL_BENCH_WORKLOAD_H_
