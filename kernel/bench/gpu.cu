#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "kernel/bench/gpu.h"
#include "kernel/ptx.cuh"

namespace hotproof::kernel::bench {
namespace {

__device__ uint64_t mix(uint64_t x) {  // splitmix64's finaliser
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

__global__ void random_e4m3(uint64_t* data, size_t words, uint64_t seed) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < words;
       i += step) {
    uint64_t bytes = mix(seed + i);
    for (int b = 0; b < 8; ++b) {
      // 0x7f and 0xff are NaN: clear the lowest bit of such a byte.
      if (((bytes >> (8 * b)) & 0x7f) == 0x7f) bytes &= ~(1ull << (8 * b));
    }
    data[i] = bytes;
  }
}

__global__ void random_floats(float* data, size_t count, float low, float high, uint64_t seed) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count;
       i += step) {
    const float unit = static_cast<float>(mix(seed + i) >> 40) * 0x1p-24f;
    data[i] = low + (high - low) * unit;
  }
}

__global__ void random_bf16(__nv_bfloat16* data, size_t count, float scale, uint64_t seed) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count;
       i += step) {
    const uint64_t bits = mix(seed + i);
    float sum = 0;  // of four uniforms
    for (int b = 0; b < 4; ++b) {
      sum += static_cast<float>((bits >> (16 * b)) & 0xffff) * 0x1p-16f - 0.5f;
    }
    data[i] = __float2bfloat16(sum * 1.73f * scale);
  }
}

// As quantising normal weights gives: deviation 112, at most 448. Eight uniforms' sum.
__global__ void normal_e4m3(uint8_t* data, size_t count, uint64_t seed) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count;
       i += step) {
    const uint64_t bits = mix(seed + i);
    float sum = -4;
    for (int b = 0; b < 8; ++b) sum += static_cast<float>((bits >> (8 * b)) & 0xff) * 0x1p-8f;
    data[i] = __nv_cvt_float_to_fp8(sum * 137, __NV_SATFINITE, __NV_E4M3);
  }
}

__global__ void wait(int ns) {
  const uint64_t begin = ptx::global_ns();
  while (ptx::global_ns() - begin < static_cast<uint64_t>(ns)) {
  }
}

__global__ void different_words(const uint16_t* a, const uint16_t* b, size_t count,
                                unsigned long long* different) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < count && a[i] != b[i]) atomicAdd(different, 1ull);
}

__global__ void load(uint32_t* scratch, size_t words, long long cycles) {
  const long long start = clock64();
  size_t i = (blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x) % words;
  while (clock64() - start < cycles) {
    scratch[i] += 1;
    i = (i + 104729) % words;
  }
}

__global__ void late_copy(uint4* to, const uint4* from, size_t count) {
  ptx::launch_dependents();
  const uint64_t begin = ptx::global_ns();
  while (ptx::global_ns() < begin + 20000) {
  }
  for (size_t i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) to[i] = from[i];
}

}  // namespace

Graph::Graph(cudaStream_t stream, const std::function<void()>& enqueue) {
  HOTPROOF_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  enqueue();
  cudaGraph_t graph = nullptr;
  HOTPROOF_CHECK(cudaStreamEndCapture(stream, &graph));
  HOTPROOF_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
  HOTPROOF_CHECK(cudaGraphDestroy(graph));
}

std::vector<Spread> time_interleaved(cudaStream_t stream, const std::vector<const Graph*>& graphs,
                                     int replays, int pause_ms) {
  constexpr int kWarmUp = 2;
  const size_t count = graphs.size();
  std::vector<cudaEvent_t> events(2 * count * replays);
  for (cudaEvent_t& event : events) HOTPROOF_CHECK(cudaEventCreate(&event));
  for (int r = -kWarmUp; r < replays; ++r) {
    for (size_t g = 0; g < count; ++g) {
      cudaEvent_t* pair = r < 0 ? nullptr : &events[2 * (r * count + g)];
      if (pause_ms > 0) {
        HOTPROOF_CHECK(cudaStreamSynchronize(stream));
        std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
        wait<<<1, 1, 0, stream>>>(300'000);  // until the graph is enqueued behind it
        HOTPROOF_CHECK(cudaGetLastError());
      }
      if (pair) HOTPROOF_CHECK(cudaEventRecord(pair[0], stream));
      graphs[g]->replay(stream);
      if (pair) HOTPROOF_CHECK(cudaEventRecord(pair[1], stream));
    }
  }
  HOTPROOF_CHECK(cudaStreamSynchronize(stream));
  std::vector<Spread> result(count);
  for (size_t g = 0; g < count; ++g) {
    std::vector<double> us;
    for (int r = 0; r < replays; ++r) {
      float ms = 0;
      cudaEvent_t* pair = &events[2 * (r * count + g)];
      HOTPROOF_CHECK(cudaEventElapsedTime(&ms, pair[0], pair[1]));
      us.push_back(ms * 1e3);
    }
    std::sort(us.begin(), us.end());
    result[g] = {us[us.size() / 2], us[us.size() / 10], us[us.size() * 9 / 10], replays};
  }
  for (cudaEvent_t event : events) cudaEventDestroy(event);
  return result;
}

void fill_random_e4m3(uint8_t* data, size_t count, uint64_t seed, cudaStream_t stream) {
  random_e4m3<<<1056, 256, 0, stream>>>(reinterpret_cast<uint64_t*>(data), count / 8, seed);
  HOTPROOF_CHECK(cudaGetLastError());
}
void fill_e4m3(uint8_t* data, size_t count, Values values, uint64_t seed, cudaStream_t stream) {
  if (values == Values::kRandom) return fill_random_e4m3(data, count, seed, stream);
  if (values == Values::kZero) {
    HOTPROOF_CHECK(cudaMemsetAsync(data, 0, count, stream));
    return;
  }
  normal_e4m3<<<1056, 256, 0, stream>>>(data, count, seed);
  HOTPROOF_CHECK(cudaGetLastError());
}
void fill_random_floats(float* data, size_t count, float low, float high, uint64_t seed,
                        cudaStream_t stream) {
  random_floats<<<264, 256, 0, stream>>>(data, count, low, high, seed);
  HOTPROOF_CHECK(cudaGetLastError());
}
void fill_random_bf16(uint16_t* data, size_t count, float scale, uint64_t seed,
                      cudaStream_t stream) {
  random_bf16<<<264, 256, 0, stream>>>(reinterpret_cast<__nv_bfloat16*>(data), count, scale, seed);
  HOTPROOF_CHECK(cudaGetLastError());
}
void count_different(const uint16_t* a, const uint16_t* b, size_t count,
                     unsigned long long* different, cudaStream_t stream) {
  different_words<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(a, b, count,
                                                                                  different);
  HOTPROOF_CHECK(cudaGetLastError());
}
void enqueue_load(uint32_t* scratch, size_t words, int blocks, int microseconds,
                  cudaStream_t stream) {
  load<<<blocks, 256, 0, stream>>>(scratch, words, microseconds * 1900ll);
  HOTPROOF_CHECK(cudaGetLastError());
}

void enqueue_late_copy(uint8_t* to, const uint8_t* from, size_t bytes, cudaStream_t stream) {
  late_copy<<<64, 256, 0, stream>>>(reinterpret_cast<uint4*>(to),
                                    reinterpret_cast<const uint4*>(from), bytes / sizeof(uint4));
  HOTPROOF_CHECK(cudaGetLastError());
}

}  // namespace hotproof::kernel::bench
