// What the benchmark measured, printed as a table while it runs and written as JSON at the end.
#ifndef HOTPROOF_KERNEL_BENCH_RECORDS_H_
#define HOTPROOF_KERNEL_BENCH_RECORDS_H_

#include <string>
#include <vector>

#include "kernel/bench/clocks.h"
#include "kernel/bench/gpu.h"

namespace hotproof::kernel::bench {

struct Record {
  std::string what;   // shape, forward, sandwich, sweep
  std::string shape;  // a name of kShapes, or "256 GEMMs"
  std::string
      method;  // hotproof, hotproof_bf16, roof_pdl, roof_plain, gemm_read_only, cublaslt, ...
  int m;
  Spread spread;  // of one GEMM (shape, sweep) or one forward
  double bytes;   // weights read in that time
};

class Records {
 public:
  // Divides a replay's times by `gemms_per_replay`.
  void add(const std::string& what, const std::string& shape, const std::string& method, int m,
           const Spread& replay, int gemms_per_replay, double bytes);
  const std::vector<Record>& all() const { return records_; }
  // nullptr on success, else what went wrong.
  const char* write_json(const std::string& path, const std::string& command,
                         const ClockSummary& clocks, int failed_checks,
                         size_t cublaslt_version) const;

 private:
  std::vector<Record> records_;
};

}  // namespace hotproof::kernel::bench

#endif  // HOTPROOF_KERNEL_BENCH_RECORDS_H_
