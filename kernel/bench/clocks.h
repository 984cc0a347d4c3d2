// Samples the GPU's clocks, power and throttle reasons while something runs. Owns one thread.
#ifndef HOTPROOF_KERNEL_BENCH_CLOCKS_H_
#define HOTPROOF_KERNEL_BENCH_CLOCKS_H_

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace hotproof::kernel::bench {

struct ClockSummary {
  int samples = 0;  // 0: NVML is not there
  unsigned sm_mhz_min = 0, sm_mhz_median = 0, sm_mhz_max = 0, memory_mhz = 0;
  unsigned long long throttle_reasons = 0;  // NVML's bits, all samples together
  double power_w_max = 0;
  unsigned temperature_c_max = 0;
};

class ClockSampler {
 public:
  ClockSampler();  // opens NVML and starts sampling, every 20 ms
  ~ClockSampler();
  ClockSummary stop();
  static std::string driver_version();  // empty without NVML

 private:
  void sample();
  std::atomic<bool> stop_{false};
  std::vector<unsigned> sm_mhz_;
  ClockSummary summary_;
  std::thread thread_;
};

}  // namespace hotproof::kernel::bench

#endif  // HOTPROOF_KERNEL_BENCH_CLOCKS_H_
