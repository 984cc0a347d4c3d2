// Launches and time by kernel name from tables alone, over the whole run; what rotation took away
// counts too.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analyzers/process_analysis.h"
#include "proto/report.pb.h"

namespace hotproof::analyzers {

class KernelTotals {
 public:
  void Merge(const ProcessAnalysis& process);
  bool ExceedsNumbers() const;  // some sum is more than JSON's numbers hold (number.h)
  void Finish(report::Totals* totals) const;

 private:
  struct Sums {
    std::string kind, path;
    uint64_t launches = 0, recorded = 0, time_ns = 0;
  };
  std::map<std::string, Sums> kernels_;  // by canonical name
};

}  // namespace hotproof::analyzers
