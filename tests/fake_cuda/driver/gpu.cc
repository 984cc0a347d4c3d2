// The model of the GPU: a stream is a queue, a kernel takes a fixed time, its effect on memory
// (host memory here) happens at the launch. What a kernel does follows from its name, as the
// probe's kernels do.
#include <algorithm>
#include <cstring>

#include "tests/fake_cuda/driver/driver.h"

namespace fake_cuda {
namespace {

constexpr uint64_t kLaunchLatencyNs = 2000;
constexpr uint64_t kGapNs = 200;
constexpr uint64_t kKernelNs = 600, kSpreadNs = 400;

uint64_t Argument(const KernelInfo& info, const uint8_t* bytes, size_t index) {
  uint64_t value = 0;
  if (index >= info.parameters.size()) return 0;
  const Parameter& p = info.parameters[index];
  memcpy(&value, bytes + p.offset, std::min<size_t>(p.size, sizeof value));
  return value;
}

// Kernels of one kind differ by some hundreds of nanoseconds from run to run, as real ones do.
uint64_t KernelDurationNs() {
  static std::atomic<uint64_t> state{1};
  const uint64_t x = state.fetch_add(0x9e3779b97f4a7c15u);
  return kKernelNs + (x ^ x >> 29) * 0xbf58476d1ce4e5b9u % kSpreadNs;
}

bool Contains(const char* name, const char* word) { return strstr(name, word) != nullptr; }

}  // namespace

uint64_t RunKernel(const KernelInfo& info, const uint8_t* arguments) {
  const uint64_t first = Argument(info, arguments, 0), second = Argument(info, arguments, 1);
  if (Contains(info.name, "count") || Contains(info.name, "pdl"))
    __atomic_fetch_add(reinterpret_cast<uint64_t*>(first), 1, __ATOMIC_RELAXED);
  if (Contains(info.name, "add"))
    __atomic_fetch_add(reinterpret_cast<uint32_t*>(first), static_cast<uint32_t>(second),
                       __ATOMIC_RELAXED);
  if (Contains(info.name, "block"))
    __atomic_fetch_add(reinterpret_cast<uint32_t*>(second), static_cast<uint32_t>(first),
                       __ATOMIC_RELAXED);
  if (Contains(info.name, "spin")) {
    __atomic_fetch_add(reinterpret_cast<uint64_t*>(first), 1, __ATOMIC_RELAXED);
    return second;
  }
  return KernelDurationNs();
}

uint64_t Enqueue(CUstream stream, Work& work, uint64_t duration_ns, uint64_t after_ns) {
  const uint64_t earliest = std::max(NowNs() + kLaunchLatencyNs, after_ns);
  uint64_t busy = stream->busy_until_ns.load(std::memory_order_relaxed);
  do {
    work.start_ns = std::max(earliest, busy + kGapNs);
    work.end_ns = work.start_ns + duration_ns;
  } while (!stream->busy_until_ns.compare_exchange_weak(busy, work.end_ns));
  return work.end_ns;
}

}  // namespace fake_cuda
