// Which quantisers and split-K reductions belong to which GEMM. A quantiser belongs to the GEMM on
// quantised operands that its stream runs next; a reduction to the GEMM of the same library that
// its stream ran just before. Whatever a library launched in the call that launched the GEMM is that
// GEMM's. For graphs the order of the nodes on their stream says so, for eager
// launches the order of their records.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "analyzers/trace_index.h"

namespace hotproof::analyzers {

// Sums of the helper launches of one kind given to one GEMM.
struct HelperSums {
  uint64_t launches[2] = {};  // [0] warm-up, [1] steady
  uint64_t exclusive_ns[2] = {};
};

// Whether an operand of this type has to be made by a quantiser; false where the type is not known.
bool IsQuantised(const std::string& dtype);

// Whether launches of site `helper`, then (before: false) or earlier (true) a launch of `gemm`, on
// one stream with nothing between, belong together.
bool QuantBelongsTo(const TraceIndex& index, uint32_t quant_site, uint32_t gemm_site);
bool ReductionBelongsTo(const TraceIndex& index, uint32_t reduce_site, uint32_t gemm_site);

// For each slot of a graph node the slot of the GEMM it belongs to, 0: none. `slot_stream`: the
// stream that the records of each slot ran on; 0: not seen or not always the same.
std::vector<uint32_t> GraphHelperOwners(const TraceIndex& index,
                                        const std::vector<uint32_t>& slot_stream);

// Watches eager records in the order of the trace and gives helpers to GEMMs.
class EagerHelpers {
 public:
  explicit EagerHelpers(const TraceIndex& index);

  // One timed record; `site` 0 or a graph record only breaks the sequence (see Break).
  void Add(uint32_t stream, uint32_t site, bool steady, uint64_t start_ns, uint64_t exclusive_ns);
  void Break(uint32_t stream);
  // Neither a GEMM nor ever a helper.
  bool IsPlain(uint32_t site) const { return is_plain_[site]; }
  // The same as Add for records of plain sites, one behind the other, the last of which starts at
  // `start_ns`.
  void PassPlain(uint32_t stream, uint64_t start_ns);

  // (helper site, GEMM site) -> sums.
  using Owned = absl::btree_map<std::pair<uint32_t, uint32_t>, HelperSums>;
  const Owned& owned() const { return owned_; }

 private:
  struct Pending {
    uint32_t site;
    bool steady;
    uint64_t exclusive_ns;
  };
  struct Stream {
    uint64_t last_start_ns = 0;
    uint32_t last_gemm_site = 0;  // 0: the last kernel was no GEMM
    uint32_t pending_count = 0;
    std::array<Pending, 4> pending;  // quantisers since the last other kernel
  };
  void Give(const Pending& helper, uint32_t gemm_site);

  const TraceIndex* index_;
  std::vector<char> is_plain_;  // by site: neither a GEMM nor ever a helper
  std::vector<Stream> streams_;
  Owned owned_;
};

}  // namespace hotproof::analyzers
