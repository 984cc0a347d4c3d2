// What analyzers look up per record, precomputed once per trace into dense vectors: no hashing and
// no string is touched while records are folded. Immutable after Build; read on any thread.
//
// A slot is the finest thing that is counted and timed: an eager site or one node of one graph.
// Slots [0, sites) are the sites themselves (slot 0: unknown), the nodes of all graphs follow.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzers/phases.h"
#include "analyzers/shape_evidence.h"
#include "catalog/classifier.h"
#include "trace/format.h"
#include "trace/tables.h"

namespace hotproof::analyzers {

struct KernelInfo {
  std::string name;        // as CUPTI gave it
  std::string canonical;   // demangled, one spelling
  std::string cubin_hash;  // hex; empty: unknown
  // It was made for, 90 for sm_90a: the older of its name's and its cubin's; 0: unknown.
  uint32_t architecture = 0;
  catalog::KernelClass kernel_class;
};

// Launches asked of one slot, from the counters.
struct SlotLaunches {
  uint64_t warmup = 0;
  uint64_t steady = 0;  // all, in an unphased process
  uint64_t total() const { return warmup + steady; }
};

class TraceIndex {
 public:
  TraceIndex(const trace::Tables& tables, const catalog::Classifier& classifier);

  const trace::Tables& tables() const { return *tables_; }
  const Phases& phases() const { return phases_; }

  // ---- slots
  size_t slot_count() const { return slot_site_.size(); }
  uint32_t first_slot_of_graph(uint32_t graph) const { return graph_slot_[graph]; }
  uint32_t site_of_slot(uint32_t slot) const { return slot_site_[slot]; }
  // Of `slot` and those behind it.
  const uint32_t* sites_of_slots(uint32_t slot) const { return &slot_site_[slot]; }
  bool IsGraphSlot(uint32_t slot) const { return slot >= sites_.size(); }
  uint32_t SlotOf(trace::Target target, uint32_t node, uint32_t site) const {
    if (target.is_graph() && target.id() + 1 < graph_slot_.size()) {
      const uint32_t slot = graph_slot_[target.id()] + node;
      if (slot < graph_slot_[target.id() + 1] && slot_site_[slot] == site) return slot;
    }
    return site < sites_.size() ? site : 0;
  }
  // Kernel executions that one launch of `target` asks for; 0: unknown.
  uint32_t ExecutionsOf(trace::Target target) const {
    if (!target.is_graph()) return target.is_known() ? 1 : 0;
    if (target.id() + 1 >= graph_slot_.size()) return 0;
    return graph_slot_[target.id() + 1] - graph_slot_[target.id()];
  }
  const std::vector<SlotLaunches>& launches() const { return launches_; }

  // ---- sites and kernels
  size_t site_count() const { return sites_.size(); }
  const KernelInfo& kernel(uint32_t kernel_id) const { return kernels_[kernel_id]; }
  size_t kernel_count() const { return kernels_.size(); }
  uint32_t kernel_of_site(uint32_t site) const { return sites_[site].kernel; }
  const Shape& shape_of_site(uint32_t site) const { return sites_[site].shape; }
  catalog::Kind kind_of_site(uint32_t site) const { return sites_[site].kind; }
  catalog::Path path_of_site(uint32_t site) const;
  // The same number for sites whose library calls asked for the same; 0: made in none.
  uint32_t call_of_site(uint32_t site) const { return sites_[site].library_call; }
  // What tells launches of one kernel apart whose dims are not all known: grid, block and a digest
  // of the masked arguments, readable.
  std::string VariantOfSite(uint32_t site) const;
  // Why they are not: a sentence.
  std::string WhyUnknown(uint32_t site) const;

  // ---- clocks
  // Below kUnknownDevice, or it: a stream that only synchronizations name has no device, and tables
  // are kept by device.
  static constexpr uint32_t kUnknownDevice = 1024;
  uint32_t device_of_stream(uint32_t stream) const {
    return stream < stream_device_.size() ? stream_device_[stream] : 0;
  }
  bool IsInClockRange(uint64_t start_ns, uint64_t end_ns) const {
    return start_ns >= clock_low_ns_ && end_ns <= clock_high_ns_ && start_ns <= end_ns;
  }

  // ---- what the counters cannot place
  uint64_t launches_without_slot() const { return launches_without_slot_; }
  uint64_t launches_without_table() const { return launches_without_table_; }
  uint64_t replays_without_table() const { return replays_without_table_; }
  bool counters_ran_backwards() const { return counters_ran_backwards_; }
  // By site.
  const std::map<uint32_t, std::string>& shape_contradictions() const {
    return shape_contradictions_;
  }

 private:
  struct SiteInfo {
    uint32_t kernel = 0;
    catalog::Kind kind = catalog::Kind::kOther;
    Shape shape;
    uint32_t library_call = 0;
  };
  void ClassifyKernels(const catalog::Classifier& classifier);
  void LayOutSlots();
  void CountLaunches();
  void FindClockRange();
  bool IsLost(uint32_t site) const;

  const trace::Tables* tables_;
  Phases phases_;
  std::vector<KernelInfo> kernels_;
  std::vector<SiteInfo> sites_;
  std::vector<uint32_t> slot_site_;
  std::vector<uint32_t> graph_slot_;  // by graph id; one more entry than graphs
  std::vector<SlotLaunches> launches_;
  std::vector<uint32_t> stream_device_;
  std::map<uint32_t, std::string> shape_contradictions_;
  uint64_t clock_low_ns_ = 1, clock_high_ns_ = UINT64_MAX;
  uint64_t launches_without_slot_ = 0;   // the counter table was full
  uint64_t launches_without_table_ = 0;  // the trace lost what describes the site or its kernel
  uint64_t replays_without_table_ = 0;   // of graphs unknown or without a slot
  bool counters_ran_backwards_ = false;
};

}  // namespace hotproof::analyzers
