// How cuBLAS' products are described and forwarded: D = op(A) op(B), column-major.
#pragma once

#include "cupti_tracer/interpose/cublas.h"

namespace hotproof::tracer {

inline constexpr char kCublas[] = "libcublas.so";

inline trace::LibraryCallEntry Describe(const char* entry_point, int transa, int transb, int64_t m,
                                        int64_t n, int64_t k, int64_t lda, int64_t ldb,
                                        int64_t ldd) {
  trace::LibraryCallEntry call;
  call.entry_point = entry_point;
  call.numbers.m = static_cast<uint64_t>(m);
  call.numbers.n = static_cast<uint64_t>(n);
  call.numbers.k = static_cast<uint64_t>(k);
  call.numbers.operation_a = static_cast<uint32_t>(transa);
  call.numbers.operation_b = static_cast<uint32_t>(transb);
  call.numbers.lda = static_cast<uint64_t>(lda);
  call.numbers.ldb = static_cast<uint64_t>(ldb);
  call.numbers.ldd = static_cast<uint64_t>(ldd);
  return call;
}

inline void SetTypes(trace::LibraryCallEntry& call, int a, int b, int d, uint32_t compute) {
  call.numbers.a_type = Known(a);
  call.numbers.b_type = Known(b);
  call.numbers.c_type = call.numbers.d_type = Known(d);
  call.numbers.compute_type = compute;
}

inline void SetBatch(trace::LibraryCallEntry& call, int64_t batch, int64_t a, int64_t b,
                     int64_t d) {
  call.numbers.batch = static_cast<uint64_t>(batch);
  call.numbers.stride_a = static_cast<uint64_t>(a);
  call.numbers.stride_b = static_cast<uint64_t>(b);
  call.numbers.stride_d = static_cast<uint64_t>(d);
}

// Calls the real function, inside a scope if `describe` has something to say.
template <typename Function, typename Describer, typename... Args>
int Forward(RealFunction& real, const void* caller, const void* self, Describer&& describe,
            Args... args) {
  auto* function = reinterpret_cast<Function*>(real.For(caller, self));
  if (function == nullptr) return kCublasStatusNotSupported;
  if (!WantsLibraryCall()) return function(args...);
  const trace::LibraryCallEntry call = describe();
  const LibraryCallScope scope(call);
  return function(args...);
}

}  // namespace hotproof::tracer

#define HOTPROOF_FORWARD(NAME, DESCRIBE, ...)                       \
  static constinit RealFunction real(#NAME, kCublas);               \
  return Forward<decltype(NAME)>(real, __builtin_return_address(0), \
                                 reinterpret_cast<const void*>(&NAME), DESCRIBE, __VA_ARGS__)

#define HOTPROOF_DESCRIBED(NAME, LDA, LDB, LDD, MORE)                    \
  [&] {                                                                  \
    auto call = Describe(#NAME, transa, transb, m, n, k, LDA, LDB, LDD); \
    MORE;                                                                \
    return call;                                                         \
  }
