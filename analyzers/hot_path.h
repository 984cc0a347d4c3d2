// Which code path ran each GEMM: a row per shape, path and kernel, over all processes. Dims that
// are not known keep launches apart by grid, block and masked arguments, since persistent kernels
// share grid and tile. How a library was asked for it keeps nothing apart: a row lists its calls.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analyzers/helper_kernels.h"
#include "analyzers/operands.h"
#include "analyzers/rows.h"
#include "proto/report.pb.h"

namespace hotproof::analyzers {

// What is constant about the launches of a GEMM's site: shape, path, kernel, operands.
report::Gemm GemmOf(const ProcessAnalysis& process, uint32_t site);

class HotPath {
 public:
  explicit HotPath(PhaseChoice phase) : phase_(phase) {}

  // `process` must outlive this.
  void Merge(const ProcessAnalysis& process);

  // Appends the rows, and a problem for each that is faster than its memory allows.
  // `all_exclusive_ns`: of all kernels of all processes.
  void Finish(uint64_t all_exclusive_ns, report::Report* report) const;

 private:
  struct Row {
    const ProcessAnalysis* process;  // of the first site; what is constant is the same for all sites
    uint32_t site;
    HelperSums quant, reduce;    // of the chosen phase in [1]
    bool order_unknown = false;  // of eager launches that are in it
    Operands operands;           // of all its sites
    std::map<uint32_t, uint64_t> launches_by_call;  // by position in calls_
  };
  static constexpr uint32_t kNoCall = UINT32_MAX;
  std::vector<uint32_t> RowsOfSites(const ProcessAnalysis& process);
  void AddHelpers(const ProcessAnalysis& process, const std::vector<uint32_t>& row_of_site);
  void AddCalls(const ProcessAnalysis& process, const std::vector<uint32_t>& row_of_site);
  void SetCalls(const Row& info, report::Gemm* row) const;
  static void SetHelperTimes(const Row& info, report::Gemm* row);
  void FlagImpossible(const RowSums& sums, report::Gemm* row, report::Report* report) const;

  PhaseChoice phase_;
  Rows rows_;
  std::vector<Row> info_;         // by row
  std::vector<report::Call> calls_;  // each once, by their text
  std::map<std::string, uint32_t> call_by_text_;
  double peak_bytes_per_ns_ = 0;  // of the fastest device seen; 0: unknown
  uint64_t l2_bytes_ = 0;
};

}  // namespace hotproof::analyzers
