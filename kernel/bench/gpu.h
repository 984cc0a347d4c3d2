// What every part of the benchmark needs: checked CUDA calls, device buffers, graphs, random data.
// One thread, one device.
#ifndef HOTPROOF_KERNEL_BENCH_GPU_H_
#define HOTPROOF_KERNEL_BENCH_GPU_H_

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "kernel/fp8_gemm.h"

namespace hotproof::kernel::bench {

inline void check(cudaError_t error, const char* what, const char* file, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, cudaGetErrorString(error));
  std::exit(1);
}
inline void check(hotproof_status status, const char* what, const char* file, int line) {
  if (status == HOTPROOF_OK) return;
  std::fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, what, hotproof_status_string(status),
               cudaGetErrorString(static_cast<cudaError_t>(hotproof_last_cuda_error())));
  std::exit(1);
}
#define HOTPROOF_CHECK(call) ::hotproof::kernel::bench::check((call), #call, __FILE__, __LINE__)

template <typename T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(size_t count) : count_(count) {
    if (count > 0) HOTPROOF_CHECK(cudaMalloc(&data_, count * sizeof(T)));
  }
  explicit DeviceBuffer(const std::vector<T>& host) : DeviceBuffer(host.size()) { upload(host); }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~DeviceBuffer() { cudaFree(data_); }

  T* get() const { return data_; }
  size_t size() const { return count_; }
  void upload(const std::vector<T>& host) {
    HOTPROOF_CHECK(cudaMemcpy(data_, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> download() const {
    std::vector<T> host(count_);
    HOTPROOF_CHECK(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }
  void fill_bytes(int value) { HOTPROOF_CHECK(cudaMemset(data_, value, count_ * sizeof(T))); }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

// A captured stream, ready to replay.
class Graph {
 public:
  Graph(cudaStream_t stream, const std::function<void()>& enqueue);
  Graph(Graph&& other) noexcept : exec_(std::exchange(other.exec_, nullptr)) {}
  ~Graph() {
    if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
  }
  void replay(cudaStream_t stream) const { HOTPROOF_CHECK(cudaGraphLaunch(exec_, stream)); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

struct Spread {
  double median_us = 0, p10_us = 0, p90_us = 0;
  int replays = 0;
};
// Replays the graphs in turn, `replays` times each after two warm-up rounds; times of whole
// replays. pause_ms: the GPU idles as long before each, so that it stays below its power limit.
std::vector<Spread> time_interleaved(cudaStream_t stream, const std::vector<const Graph*>& graphs,
                                     int replays, int pause_ms = 0);

// What weights look like: random e4m3 bytes without NaN, whole exponent range; normal with
// deviation 112, as quantised weights are whose block maximum is 448; or all zero.
enum class Values { kRandom, kNormal, kZero };
void fill_e4m3(uint8_t* data, size_t count, Values values, uint64_t seed, cudaStream_t stream);
// Random e4m3 bytes without NaN, whole exponent range; floats uniform in [low, high); bf16 roughly
// normal with deviation `scale`.
void fill_random_e4m3(uint8_t* data, size_t count, uint64_t seed, cudaStream_t stream);
void fill_random_floats(float* data, size_t count, float low, float high, uint64_t seed,
                        cudaStream_t stream);
void fill_random_bf16(uint16_t* data, size_t count, float scale, uint64_t seed,
                      cudaStream_t stream);
// Adds the number of differing 16-bit words to *different (device memory).
void count_different(const uint16_t* a, const uint16_t* b, size_t count,
                     unsigned long long* different, cudaStream_t stream);
// Keeps multiprocessors and memory busy for about `microseconds`: `blocks` blocks copying through
// `scratch`.
void enqueue_load(uint32_t* scratch, size_t words, int blocks, int microseconds,
                  cudaStream_t stream);

// Copies, beginning 20 us after it has let its programmatic dependents start. bytes: a multiple of
// 16.
void enqueue_late_copy(uint8_t* to, const uint8_t* from, size_t bytes, cudaStream_t stream);

}  // namespace hotproof::kernel::bench

#endif  // HOTPROOF_KERNEL_BENCH_GPU_H_
