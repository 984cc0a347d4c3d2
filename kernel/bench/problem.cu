#include <cmath>
#include <cstring>

#include "kernel/bench/problem.h"

namespace hotproof::kernel::bench {

Problem::Problem(int max_m, int n, int k, const Layout& layout)
    : max_m(max_m),
      n(n),
      k(k),
      layout(layout),
      a(static_cast<size_t>(max_m + layout.a_extra_rows) * (k + layout.lda_extra), 0x7f),
      b(static_cast<size_t>(n) * (k + layout.lda_extra), 0x7f),
      a_scale(static_cast<size_t>(max_m) * ((k + 127) / 128)),
      b_scale(static_cast<size_t>((n + 127) / 128) * ((k + 127) / 128)),
      workspace(64 << 20) {
  HOTPROOF_CHECK(hotproof_fp8_gemm_init_workspace(workspace.get(), workspace.size(), nullptr));
}

float& Problem::a_scale_at(int m, int block) {
  return a_scale[layout.a_scale_m_major ? block * max_m + m : m * k_blocks() + block];
}
float& Problem::b_scale_at(int n_block, int block) { return b_scale[n_block * k_blocks() + block]; }

template <typename Next>
void Problem::fill(Next next) {
  for (int m = 0; m < max_m; ++m) {
    for (int i = 0; i < k; ++i) a_at(m, i) = next();
  }
  for (int r = 0; r < n; ++r) {
    for (int i = 0; i < k; ++i) b[static_cast<size_t>(r) * lda() + i] = next();
  }
}

void Problem::fill_random(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, kE4m3Max / 4);
  std::vector<uint8_t> samples(1 << 16);
  for (uint8_t& sample : samples) sample = float_to_e4m3(normal(random));
  uint64_t bits = 0;
  int left = 0;
  fill([&] {
    if (left == 0) bits = random(), left = 4;
    --left;
    const uint8_t value = samples[bits & 0xffff];
    bits >>= 16;
    return value;
  });
  std::uniform_real_distribution<float> exponent(-6, 0);
  for (float& s : a_scale) s = std::exp2(exponent(random));
  for (float& s : b_scale) s = std::exp2(exponent(random));
}

void Problem::fill_bytes(uint64_t seed) {
  fill_random(seed);
  std::mt19937_64 random(seed);
  fill([&] {
    const uint8_t value = static_cast<uint8_t>(random() >> 17);
    return (value & 0x7f) == 0x7f ? static_cast<uint8_t>(value ^ 1) : value;
  });
}

void Problem::fill_integers(uint64_t seed) {
  std::mt19937_64 random(seed);
  fill([&] { return float_to_e4m3(static_cast<float>(random() % 5) - 2); });
  for (float& s : a_scale) s = std::ldexp(1.0f, static_cast<int>(random() % 4) - 2);
  for (float& s : b_scale) s = std::ldexp(1.0f, static_cast<int>(random() % 4) - 2);
}

void Problem::upload() {
  device_a_ = DeviceBuffer<uint8_t>(a);
  device_b_ = DeviceBuffer<uint8_t>(b);
  device_a_scale_ = DeviceBuffer<float>(a_scale);
  device_b_scale_ = DeviceBuffer<float>(b_scale);
  device_d_ = DeviceBuffer<uint16_t>(static_cast<size_t>(max_m) * ldd());
}

HostProblem Problem::host(int m) const {
  HostProblem p = {};
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = a.data();
  p.lda = lda();
  p.a_scale = a_scale.data();
  p.a_scale_stride_m = layout.a_scale_m_major ? 1 : k_blocks();
  p.a_scale_stride_k = layout.a_scale_m_major ? max_m : 1;
  p.b = b.data();
  p.ldb = lda();
  p.b_scale = b_scale.data();
  p.b_scale_stride_n = k_blocks();
  p.b_scale_stride_k = 1;
  return p;
}

hotproof_fp8_gemm_args Problem::args(int m) const {
  const HostProblem p = host(m);
  hotproof_fp8_gemm_args args = {};
  args.m = m;
  args.n = n;
  args.k = k;
  args.a = device_a_.get();
  args.lda = p.lda;
  args.a_scale = device_a_scale_.get();
  args.a_scale_stride_m = p.a_scale_stride_m;
  args.a_scale_stride_k = p.a_scale_stride_k;
  args.b = device_b_.get();
  args.ldb = p.ldb;
  args.b_scale = device_b_scale_.get();
  args.b_scale_stride_n = p.b_scale_stride_n;
  args.b_scale_stride_k = p.b_scale_stride_k;
  args.d = device_d_.get();
  args.ldd = ldd();
  args.workspace = workspace.get();
  args.workspace_bytes = workspace.size();
  return args;
}

std::vector<uint16_t> Problem::run(int m, const Tuning& tuning) {
  return run(m, tuning, Mutation::kNone);
}

std::vector<uint16_t> Problem::run(int m, const Tuning& tuning, Mutation mutation) {
  const std::vector<uint16_t> poison(device_d_.size(), kPoison);
  device_d_.upload(poison);
  HOTPROOF_CHECK(
      cudaMemset(workspace.get() + kControlBytes, 0xff, workspace.size() - kControlBytes));
  HOTPROOF_CHECK(launch(args(m), nullptr, false, tuning, mutation));
  HOTPROOF_CHECK(cudaDeviceSynchronize());
  return device_d_.download();
}

}  // namespace hotproof::kernel::bench
