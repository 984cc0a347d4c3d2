// Launches and time by what kernels do.
#pragma once

#include <vector>

#include "analyzers/rows.h"
#include "proto/report.pb.h"

namespace hotproof::analyzers {

class Kinds {
 public:
  explicit Kinds(PhaseChoice phase) : phase_(phase) {}
  void Merge(const ProcessAnalysis& process);
  void Finish(uint64_t all_exclusive_ns, report::Report* report) const;

 private:
  PhaseChoice phase_;
  Rows rows_;
  std::vector<uint64_t> attributed_;  // by row: launches that a GEMM row claims
};

}  // namespace hotproof::analyzers
