// Launches and time by kernel; kernels of one name from two modules stay apart.
#pragma once

#include <vector>

#include "analyzers/rows.h"
#include "proto/report.pb.h"

namespace hotproof::analyzers {

class Kernels {
 public:
  explicit Kernels(PhaseChoice phase) : phase_(phase) {}
  void Merge(const ProcessAnalysis& process);
  void Finish(uint64_t all_exclusive_ns, report::Report* report) const;

 private:
  PhaseChoice phase_;
  Rows rows_;
  std::vector<report::Kernel> info_;  // by row: what does not depend on launches
};

}  // namespace hotproof::analyzers
