#include "kernel/bench/clocks.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>

namespace hotproof::kernel::bench {
namespace {

// NVML's C interface, as far as it is used; the numbers are its public enum values.
using NvmlDevice = void*;
struct Nvml {
  int (*init)() = nullptr;
  int (*device)(unsigned, NvmlDevice*) = nullptr;
  int (*clock)(NvmlDevice, int, unsigned*) = nullptr;
  int (*power)(NvmlDevice, unsigned*) = nullptr;
  int (*temperature)(NvmlDevice, int, unsigned*) = nullptr;
  int (*reasons)(NvmlDevice, unsigned long long*) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
  bool good = false;
};
constexpr int kClockSm = 1, kClockMemory = 2, kTemperatureGpu = 0;

const Nvml& nvml() {
  static const Nvml api = [] {
    Nvml n;
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) library = dlopen("/usr/local/nvidia/lib64/libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr) return n;
    const auto load = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    n.good = load(n.init, "nvmlInit_v2") && load(n.device, "nvmlDeviceGetHandleByIndex_v2") &&
             load(n.clock, "nvmlDeviceGetClockInfo") && load(n.power, "nvmlDeviceGetPowerUsage") &&
             load(n.temperature, "nvmlDeviceGetTemperature") &&
             load(n.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons") &&
             load(n.driver, "nvmlSystemGetDriverVersion") && n.init() == 0;
    return n;
  }();
  return api;
}

}  // namespace

std::string ClockSampler::driver_version() {
  char text[96] = "";
  if (nvml().good) nvml().driver(text, sizeof(text));
  return text;
}

ClockSampler::ClockSampler() {
  if (nvml().good) thread_ = std::thread([this] { sample(); });
}

ClockSampler::~ClockSampler() { stop(); }

void ClockSampler::sample() {
  NvmlDevice device = nullptr;
  if (nvml().device(0, &device) != 0) return;
  while (!stop_) {
    unsigned sm = 0, memory = 0, milliwatt = 0, celsius = 0;
    unsigned long long reasons = 0;
    if (nvml().clock(device, kClockSm, &sm) == 0) sm_mhz_.push_back(sm);
    if (nvml().clock(device, kClockMemory, &memory) == 0) summary_.memory_mhz = memory;
    if (nvml().power(device, &milliwatt) == 0) {
      summary_.power_w_max = std::max(summary_.power_w_max, milliwatt * 1e-3);
    }
    if (nvml().temperature(device, kTemperatureGpu, &celsius) == 0) {
      summary_.temperature_c_max = std::max(summary_.temperature_c_max, celsius);
    }
    if (nvml().reasons(device, &reasons) == 0) summary_.throttle_reasons |= reasons;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

ClockSummary ClockSampler::stop() {
  stop_ = true;
  if (thread_.joinable()) {
    thread_.join();
    std::sort(sm_mhz_.begin(), sm_mhz_.end());
    if (!sm_mhz_.empty()) {
      summary_.samples = static_cast<int>(sm_mhz_.size());
      summary_.sm_mhz_min = sm_mhz_.front();
      summary_.sm_mhz_median = sm_mhz_[sm_mhz_.size() / 2];
      summary_.sm_mhz_max = sm_mhz_.back();
    }
  }
  return summary_;
}

}  // namespace hotproof::kernel::bench
