// Which launches an expectation selects, and what they come to in one process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
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
  // Where no kind is asked for: a share is taken of the launches of this kind alone. Bounds other
  // than the share do not know it.
  std::optional<catalog::Kind> share_kind;
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

  std::optional<catalog::Kind> WholeKind() const { return kind ? kind : share_kind; }
  std::string Text() const;  // "kernel /foo/ on path custom of shape 34816x5120"
};

// Why evidence decides less than it might, as sentences, and what to do.
struct Why {
  std::string text, advice;
  std::vector<std::string> ids;  // the names of loss_table.h

  void Add(const std::string& more, const std::string& more_advice, const std::string& id);
};

// Launches of one kernel, or of those of its sites that a list is about.
struct Ran {
  uint64_t launches = 0;            // in the phase asked for
  uint64_t steady = 0, warmup = 0;  // where unphased: one of the two
  double exclusive_ns = 0;          // in the phase asked for
};
using RanByName = absl::btree_map<std::string, Ran>;

// What a selection got in one process or, added up, in all of them.
struct Tally {
  Observed selected;  // in the phase asked for
  // For a share: `in_share` of the selected are of the whole's kind, and `others` are what else is
  // of the whole's kind and shape. Selected launches of a kernel of unknown kind are possible.
  Observed in_share, others;
  uint64_t possible_in_whole = 0;  // of in_share.possible: others, if they are not selected
  uint64_t of_other_kinds = 0;     // selected launches that are not in in_share.launches
  Evidence times = Evidence::kExact;
  double selected_ns = 0, possible_ns = 0, all_ns = 0;
  bool phased = true;
  uint64_t steady = 0, warmup = 0, captured = 0;
  Why why_counts, why_times;
  // Of the graphs that were replayed in the phase and hold a GEMM or one of the selected launches.
  std::vector<PerReplay> graphs;
  // By the kernels' names: what was selected, what of it counts in the share, and what else is in
  // the whole of the share and of all GPU time.
  RanByName ran_selected, ran_in_share, ran_beside_share, ran_beside;

  void Add(const Tally& other);
};

Tally TallyOf(const Selection& selection, const ProcessAnalysis& process, PhaseChoice phase);

// Appends the kernels with the most launches (or GPU time) first.
void AddLargest(const RanByName& ran, bool by_time, report::Check* check);

// Appends the kernels that ran where the selected ones did not, most similar first.
void AddNear(const Selection& selection, std::span<const ProcessAnalysis* const> processes,
             report::Check* check);

}  // namespace hotproof::analyzers
