// Launches and records of the chunk being filled, and their coding as columns (proto/FORMAT.md).
// Owned by the Writer, one thread at a time. Buffers are kept from chunk to chunk.
//
// A server that decodes launches a million kernels a second, so what can be done when a record comes
// (its group, the sums of its site) is done then, while it is in the processor's cache; the chunk's
// end only has to sort, if anything came out of order, and to write varints.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/limits.h"
#include "trace/writer.h"

namespace hotproof::trace {

struct SiteSum {
  uint64_t records = 0;
  uint64_t duration_ns = 0;
};

// What ChunkStatistics says of the columns.
struct ColumnStatistics {
  uint64_t first_start_ns = 0, last_end_ns = 0, last_start_ns = 0;
  uint64_t record_count = 0, untimed_count = 0, late_count = 0, launch_count = 0;
  std::vector<std::pair<uint32_t, SiteSum>> sites;  // ascending by site id
};

class ColumnEncoder {
 public:
  // False: the pending limit is reached and the entry was not taken.
  bool AddLaunch(const LaunchEntry&);
  bool AddRecord(const RecordEntry&);
  size_t pending_launches() const { return launches_.size(); }
  size_t pending_records() const { return timed_.size() + untimed_.size(); }

  // Appends the Chunk fields `launches` and `records` of everything pending to `message` and fills
  // statistics(). Changes nothing that a failed write would have to undo.
  void Encode(std::string& message);
  const ColumnStatistics& statistics() const { return statistics_; }

  // Site and attributes ids of sites first seen with attributes and not yet on disk.
  std::span<const std::pair<uint32_t, uint32_t>> new_site_attributes() const {
    return new_site_attributes_;
  }

  void Clear();             // forgets what is pending
  void Commit();            // what Encode coded is on disk
  void CommitAttributes();  // so are new_site_attributes()

 private:
  struct Timed {
    uint64_t start_ns, end_ns;
    uint32_t group, node, stream;
  };
  struct Untimed {
    uint32_t group, node;
  };
  struct Group {
    uint64_t correlation_id;
    Target target;
    uint32_t stream;                          // of its first record
    uint32_t nodes = 0;                       // one more than the last of its timed records
    uint32_t next_node = 0;                   // while records are coded
    uint32_t template_begin = 0, template_nodes = 0;  // in predictions_; 0 nodes: none
  };
  // What the groups of one target have in common, to decide whether predicting them pays.
  struct TargetUse {
    uint32_t groups = 0, nodes = 0, template_begin = 0;
    bool predicted = false;
  };
  struct Prediction {
    uint64_t gap_ns, duration_ns;
  };
  struct SortKey {
    uint64_t start_ns;
    uint32_t index;
  };
  // A record that readers may have to be told about: its site is not the one that they derive, or
  // its attributes are not (yet) known to be the site's.
  struct Odd {
    uint32_t index;  // in timed_ or untimed_
    uint32_t site, attributes;
    bool timed, derivable;
  };
  struct Exception {
    uint64_t record;
    uint32_t site, attributes;
  };

  uint32_t GroupOf(const RecordEntry&);
  uint32_t NewGroup(const RecordEntry&);
  void GrowGroupSlots();
  void GrowSites(uint32_t site);
  void SortTimed();
  void FindExceptions();
  void CollectSites();
  void ChooseTemplates();
  template <bool kSorted, typename Columns>
  void EncodeTimed(Columns& columns);
  void EncodeLaunches(std::string& message);
  void EncodeRecords(std::string& message);
  uint8_t* Reserve(size_t bytes);

  std::vector<LaunchEntry> launches_;
  std::vector<uint64_t> enter_gaps_ns_;  // the latest, by target's remainder
  std::vector<Timed> timed_;  // in order of arrival
  std::vector<Untimed> untimed_;
  bool sorted_ = true;  // timed_ is
  std::vector<SortKey> order_;  // of timed_ by start, where it is not sorted

  std::vector<Group> groups_;
  std::vector<uint32_t> group_slots_;  // open addressing, group index + 1
  size_t replay_groups_ = 0;           // those in group_slots_
  uint32_t last_group_ = 0;
  std::vector<TargetUse> target_uses_;  // by target on the wire, default between chunks
  std::vector<uint32_t> used_targets_;
  std::vector<Prediction> predictions_;
  std::vector<Odd> odd_;
  std::vector<uint32_t> positions_;  // of timed_, where it is not sorted
  std::vector<Exception> exceptions_;
  std::vector<uint8_t> scratch_;

  std::vector<uint32_t> site_attributes_;  // by site id
  std::vector<std::pair<uint32_t, uint32_t>> new_site_attributes_;
  std::vector<SiteSum> site_sums_;  // by site id, zero between chunks
  std::vector<uint32_t> touched_sites_;

  uint64_t last_start_on_disk_ns_ = 0;
  ColumnStatistics statistics_;
};

inline bool ColumnEncoder::AddRecord(const RecordEntry& record) {
  if (pending_records() >= kMaxPendingEntries) return false;
  const uint32_t group = GroupOf(record);
  const uint32_t site = record.site != 0 ? record.site : record.default_site;
  if (site >= site_sums_.size()) GrowSites(site);
  SiteSum& sum = site_sums_[site];
  if (sum.records == 0) touched_sites_.push_back(site);
  const bool timed = record.start_ns != 0 && record.end_ns >= record.start_ns;
  const bool derivable = record.target.is_known() && site == record.default_site;
  if ((!derivable && site != 0) ||
      (record.attributes != 0 && record.attributes != site_attributes_[site])) {
    odd_.push_back({static_cast<uint32_t>(timed ? timed_.size() : untimed_.size()), site,
                    record.attributes, timed, derivable});
  }
  if (timed) {
    sorted_ &= timed_.empty() || timed_.back().start_ns <= record.start_ns;
    timed_.push_back({record.start_ns, record.end_ns, group, record.node, record.stream});
    sum.duration_ns += record.end_ns - record.start_ns;
    Group& of = groups_[group];
    if (record.node >= of.nodes) of.nodes = record.node + 1;
  } else {
    untimed_.push_back({group, record.node});
  }
  ++sum.records;
  return true;
}

// A group is one launch: its correlation id and what it asked for. An eager launch has one record,
// as good as always, and is not looked for among the earlier ones.
inline uint32_t ColumnEncoder::GroupOf(const RecordEntry& record) {
  if (!groups_.empty()) {
    const Group& last = groups_[last_group_];
    if (last.correlation_id == record.correlation_id && last.target == record.target) {
      return last_group_;
    }
  }
  return NewGroup(record);
}

}  // namespace hotproof::trace
