// What `run --record operations` keeps beside kernels: copies, memsets, waits and event records, by
// kind, of the whole run. From the sums in the heads of chunks, so no column is read.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analyzers/process_analysis.h"
#include "proto/report.pb.h"

namespace hotproof::analyzers {

class Operations {
 public:
  void Merge(const ProcessAnalysis& process);
  void Finish(report::Report* report) const;

 private:
  struct Sums {
    uint64_t count = 0, bytes = 0, time_ns = 0;
  };

  bool recorded_ = false;  // by some process
  std::map<std::string, Sums> by_name_;
};

}  // namespace hotproof::analyzers
