// What the interposers of cuBLAS and cuBLASLt share. Enumerators are the libraries' own numbers;
// the declarations are written here since neither library's headers are needed to build.
#pragma once

#include <cstdint>

#include "cupti_tracer/core/library_call.h"
#include "cupti_tracer/core/session.h"
#include "cupti_tracer/interpose/real_function.h"

#define HOTPROOF_INTERPOSE extern "C" __attribute__((visibility("default")))

namespace hotproof::tracer {

constexpr int kCublasStatusNotSupported = 15;

// cudaDataType_t.
enum CudaDataType : uint32_t {
  kCudaR32F = 0,
  kCudaR64F = 1,
  kCudaR16F = 2,
  kCudaC32F = 4,
  kCudaC64F = 5,
  kCudaR16BF = 14,
};

// Enumerations that have a meaning for 0 are stored plus 1.
template <typename Value>
uint32_t Known(Value value) {
  return static_cast<uint32_t>(value) + 1;
}

// Calls are worth describing only in a traced process, and only the outermost one.
inline bool WantsLibraryCall() {
  return Session::Get() != nullptr && !LibraryCallScope::IsNested();
}

}  // namespace hotproof::tracer
