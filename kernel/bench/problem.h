// One GEMM for the checks: host data, device copies, the run, the comparison.
#ifndef HOTPROOF_KERNEL_BENCH_PROBLEM_H_
#define HOTPROOF_KERNEL_BENCH_PROBLEM_H_

#include <random>
#include <vector>

#include "kernel/bench/gpu.h"
#include "kernel/launch.h"
#include "kernel/numerics.h"
#include "kernel/reference.h"

namespace hotproof::kernel::bench {

inline constexpr uint16_t kPoison = 0x7fc1;  // a bf16 NaN that no rounding produces

// Layout choices that must not change results.
struct Layout {
  int a_extra_rows = 0;  // rows of NaN bytes after row M
  int lda_extra = 0;     // NaN bytes after column K of A and B (multiples of 16)
  int ldd_extra = 0;     // poisoned columns after column N of D (even)
  bool a_scale_m_major = false;
};

class Problem {
 public:
  // `max_m` rows of A; runs may use fewer.
  Problem(int max_m, int n, int k, const Layout& layout = {});

  int max_m, n, k;
  Layout layout;
  std::vector<uint8_t> a, b;
  std::vector<float> a_scale, b_scale;

  // What quantised weights and activations look like: normal values, deviation a quarter of e4m3's
  // range; scales log-uniform over 2^-6..2^0.
  void fill_random(uint64_t seed);
  // Any bytes but NaN, so values over all of e4m3's 17 binades; scales as above.
  void fill_bytes(uint64_t seed);
  // Integers -2..2 and power-of-two scales: every partial sum is exact.
  void fill_integers(uint64_t seed);
  void upload();

  HostProblem host(int m) const;
  hotproof_fp8_gemm_args args(int m) const;
  // Poisons D and the partial sums in the workspace, runs, returns D's bits [m][ldd].
  std::vector<uint16_t> run(int m, const Tuning& tuning, Mutation mutation);
  std::vector<uint16_t> run(int m, const Tuning& tuning = {});
  int ldd() const { return n + layout.ldd_extra; }

  uint8_t& a_at(int m, int k_index) { return a[static_cast<size_t>(m) * lda() + k_index]; }
  float& a_scale_at(int m, int block);
  float& b_scale_at(int n_block, int block);
  int lda() const { return k + layout.lda_extra; }
  int k_blocks() const { return (k + 127) / 128; }

  DeviceBuffer<uint8_t> workspace;

 private:
  template <typename Next>
  void fill(Next next);

  DeviceBuffer<uint8_t> device_a_, device_b_;
  DeviceBuffer<float> device_a_scale_, device_b_scale_;
  DeviceBuffer<uint16_t> device_d_;
};

}  // namespace hotproof::kernel::bench

#endif  // HOTPROOF_KERNEL_BENCH_PROBLEM_H_
