// What ran in which named range: a row per range and GEMM shape, path and kernel (other kernels: per range
// and kernel), over all processes. Its rows add up to all launches, those in no range included.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzers/process_analysis.h"
#include "analyzers/range_index.h"
#include "analyzers/rows.h"
#include "proto/report.pb.h"

namespace hotproof::analyzers {

class Ranges {
 public:
  explicit Ranges(PhaseChoice phase) : phase_(phase) {}

  // Whether any launch of the process was in a range.
  static bool Any(const ProcessAnalysis& process);
  void Merge(const ProcessAnalysis& process);
  // `all_exclusive_ns`: of all kernels of all processes.
  void Finish(uint64_t all_exclusive_ns, report::Report* report) const;

 private:
  struct Sums {
    uint64_t launches = 0, warmup_launches = 0, captured_nodes = 0;
    TimeSums times;
  };
  struct Row {
    std::string key;
    report::Range constants;
    Sums sums;
  };
  PhaseChoice phase_;
  absl::flat_hash_map<std::string, uint32_t> row_by_key_;
  std::vector<Row> rows_;
};

}  // namespace hotproof::analyzers
