// Which launches an expectation selects, and what they come to in one process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "analyzers/decision.h"
#include "analyzers/process_analysis.h"
#include "proto/report.pb.h"

namespace re2 {
class RE2;
}

namespace hotproof::analyzers {

// Which launches an expectation is about. All that is set must match.
struct Selection {
  std::string kernel_pattern;
  std::shared_ptr<const re2::RE2> kernel;  // null: any
  std::optional<catalog::Path> path;
  std::optional<catalog::Kind> kind;
  bool kind_implied = false;  // nobody asked for it: a path or shape means GEMMs
  struct NxK {
    uint32_t n, k;
  };
  std::optional<NxK> shape;
  // Kernels of the device code of one file.
  struct Code {
    std::string file;
    absl::flat_hash_set<uint64_t> cubins;          // hashes
    absl::flat_hash_set<std::string> ptx_kernels;  // may have been compiled by the driver
    std::string
        why_incomplete;  // set: some of it could not be read, any unknown cubin may be of it
  };
  std::shared_ptr<const Code> code;  // null: any
  std::string range_pattern;
  std::shared_ptr<const re2::RE2> range;  // null: any, none included

  std::string Text() const;  // "kernel /foo/ on path custom of shape 34816x5120"
};

// Why evidence decides less than it might, as sentences, and what to do.
struct Why {
  std::string text, advice;
  std::vector<std::string> ids;  // the names of loss_table.h

  void Add(const std::string& more, const std::string& more_advice, const std::string& id);
};

// What a selection got in one process or, added up, in all of them.
struct Tally {
  Observed selected, others;  // in the phase asked for; others: what else is of the kind and shape
  Evidence times = Evidence::kExact;
  uint64_t possible_in_whole = 0;  // of selected.possible: others, if they are not selected
  double selected_ns = 0, possible_ns = 0, all_ns = 0;
  bool phased = true;
  uint64_t steady = 0, warmup = 0, captured = 0;
  Why why_counts, why_times;
  // Of the graphs that were replayed in the phase and hold a GEMM or one of the selected launches.
  std::vector<PerReplay> graphs;

  void Add(const Tally& other);
};

Tally TallyOf(const Selection& selection, const ProcessAnalysis& process, PhaseChoice phase);

// Appends the kernels that ran where the selected ones did not, most similar first.
void AddNear(const Selection& selection, std::span<const ProcessAnalysis* const> processes,
             report::Check* check);

}  // namespace hotproof::analyzers
