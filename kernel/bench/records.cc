#include "kernel/bench/records.h"

#include <cstdio>
#include <ctime>

namespace hotproof::kernel::bench {

void Records::add(const std::string& what, const std::string& shape, const std::string& method,
                  int m, const Spread& replay, int gemms_per_replay, double bytes) {
  Spread each = replay;
  each.median_us /= gemms_per_replay;
  each.p10_us /= gemms_per_replay;
  each.p90_us /= gemms_per_replay;
  records_.push_back({what, shape, method, m, each, bytes});
  std::printf("%-9s %-9s M %3d  %-44s %9.2f us  [%9.2f, %9.2f]  %5.3f TB/s\n", what.c_str(),
              shape.c_str(), m, method.c_str(), each.median_us, each.p10_us, each.p90_us,
              bytes / each.median_us * 1e-6);
  std::fflush(stdout);
}

const char* Records::write_json(const std::string& path, const std::string& command,
                                const ClockSummary& clocks, int failed_checks,
                                size_t cublaslt_version) const {
  std::FILE* out = std::fopen(path.c_str(), "w");
  if (out == nullptr) return "cannot write the JSON file";
  cudaDeviceProp gpu = {};
  int driver = 0, runtime = 0;
  cudaGetDeviceProperties(&gpu, 0);
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  std::fprintf(
      out,
      "{\"command\": \"%s\", \"date\": \"%s\", \"gpu\": \"%s\", \"sms\": %d, \"l2_bytes\": %d, "
      "\"driver\": \"%s\", \"cuda_driver\": %d, \"cuda_runtime\": %d, \"cublaslt\": %zu,\n",
      command.c_str(), date, gpu.name, gpu.multiProcessorCount, gpu.l2CacheSize,
      ClockSampler::driver_version().c_str(), driver, runtime, cublaslt_version);
  std::fprintf(out,
               " \"clocks\": {\"samples\": %d, \"sm_mhz_min\": %u, \"sm_mhz_median\": %u, "
               "\"sm_mhz_max\": %u, \"memory_mhz\": %u, \"throttle_reasons\": \"0x%llx\", "
               "\"power_w_max\": %.0f, \"temperature_c_max\": %u},\n \"failed_checks\": %d,\n "
               "\"records\": [\n",
               clocks.samples, clocks.sm_mhz_min, clocks.sm_mhz_median, clocks.sm_mhz_max,
               clocks.memory_mhz, clocks.throttle_reasons, clocks.power_w_max,
               clocks.temperature_c_max, failed_checks);
  for (size_t i = 0; i < records_.size(); ++i) {
    const Record& r = records_[i];
    std::fprintf(
        out,
        "  {\"what\": \"%s\", \"shape\": \"%s\", \"method\": \"%s\", \"m\": %d, \"us\": %.3f, "
        "\"p10_us\": %.3f, \"p90_us\": %.3f, \"replays\": %d, \"tb_per_s\": %.4f}%s\n",
        r.what.c_str(), r.shape.c_str(), r.method.c_str(), r.m, r.spread.median_us, r.spread.p10_us,
        r.spread.p90_us, r.spread.replays, r.bytes / r.spread.median_us * 1e-6,
        i + 1 < records_.size() ? "," : "");
  }
  std::fprintf(out, " ]}\n");
  return std::fclose(out) == 0 ? nullptr : "cannot write the JSON file";
}

}  // namespace hotproof::kernel::bench
