#include "kernel/reference.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <thread>

#include "kernel/numerics.h"

namespace hotproof::kernel {
namespace {

void compute_column(const HostProblem& p, const float* table, int n, size_t index, size_t stride,
                    Reference& out) {
  for (int m = 0; m < p.m; ++m) {
    double value = 0, magnitude = 0;
    for (int k0 = 0; k0 < p.k; k0 += 128) {
      const int block = k0 / 128;
      const double scale =
          static_cast<double>(p.a_scale[m * p.a_scale_stride_m + block * p.a_scale_stride_k]) *
          p.b_scale[(n / 128) * p.b_scale_stride_n + block * p.b_scale_stride_k];
      double sum = 0, sum_abs = 0;
      for (int k = k0; k < std::min(k0 + 128, p.k); ++k) {
        const double product =
            static_cast<double>(table[p.a[m * p.lda + k]]) * table[p.b[n * p.ldb + k]];
        sum += product;
        sum_abs += std::fabs(product);
      }
      value += sum * scale;
      magnitude += sum_abs * std::fabs(scale);
    }
    out.value[m * stride + index] = value;
    out.magnitude[m * stride + index] = magnitude;
  }
}

template <typename Differs>
Mismatch compare_with(const Reference& reference, const HostProblem& problem, const uint16_t* d,
                      int64_t ldd, Differs differs) {
  Mismatch result;
  const size_t stride = reference.columns.size();
  for (int m = 0; m < problem.m; ++m) {
    for (size_t i = 0; i < stride; ++i) {
      const int n = reference.columns[i];
      const double value = reference.value[m * stride + i];
      const double magnitude = reference.magnitude[m * stride + i];
      const uint16_t bits = d[m * ldd + n];
      const double got = bf16_to_float(bits);
      if (std::isfinite(value) && std::isfinite(got) && magnitude > 0) {
        const double bound = std::ldexp(std::fabs(value), -8) + std::ldexp(magnitude, -13);
        if (bound > 1e-37) {
          result.worst_ratio = std::max(result.worst_ratio, std::fabs(got - value) / bound);
        }
      }
      if (!differs(bits, got, value, magnitude)) continue;
      if (result.count++ == 0) {
        char text[160];
        std::snprintf(text, sizeof(text), "m=%d n=%d: got %.9g, reference %.9g, magnitude %.9g", m,
                      n, got, value, magnitude);
        result.first = text;
      }
    }
  }
  return result;
}

}  // namespace

Reference compute(const HostProblem& problem, std::vector<int> columns) {
  if (columns.empty()) {
    columns.resize(problem.n);
    std::iota(columns.begin(), columns.end(), 0);
  }
  Reference out;
  const size_t count = columns.size();
  out.columns = columns;
  out.value.resize(problem.m * count);
  out.magnitude.resize(problem.m * count);
  float table[256];
  for (int i = 0; i < 256; ++i) table[i] = e4m3_to_float(static_cast<uint8_t>(i));
  const unsigned workers = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (unsigned w = 0; w < workers; ++w) {
    threads.emplace_back([&, w] {
      for (size_t i = w; i < count; i += workers) {
        compute_column(problem, table, columns[i], i, count, out);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return out;
}

bool within_bound(double d, double value, double magnitude) {
  if (std::isnan(value)) return std::isnan(d);
  if (std::isinf(value)) return d == value || std::isnan(d);  // inf - inf inside a block
  // Values beyond bf16's largest number round to infinity.
  if (std::isinf(d)) return std::fabs(value) * (1 + std::ldexp(1.0, -8)) >= 3.3895e38;
  const double half_step = std::ldexp(1.0, -134);
  return std::fabs(d - value) <=
         std::ldexp(std::fabs(value), -8) + std::ldexp(magnitude, -13) + half_step;
}

Mismatch compare(const Reference& reference, const HostProblem& problem, const uint16_t* d,
                 int64_t ldd) {
  return compare_with(reference, problem, d, ldd,
                      [](uint16_t, double got, double value, double magnitude) {
                        return !within_bound(got, value, magnitude);
                      });
}

Mismatch compare_exact(const Reference& reference, const HostProblem& problem, const uint16_t* d,
                       int64_t ldd) {
  return compare_with(reference, problem, d, ldd, [](uint16_t bits, double, double value, double) {
    const uint16_t want = double_to_bf16(value);
    // +0 and -0 are the same sum.
    return bits != want && !((bits | want) == 0x8000 && (bits & want) == 0);
  });
}

}  // namespace hotproof::kernel
