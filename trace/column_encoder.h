// Launches and records of the chunk being filled, and their coding as columns (proto/FORMAT.md).
// Owned by the Writer, one thread at a time. Buffers are kept from chunk to chunk.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

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
  size_t pending_records() const { return records_.size(); }

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
  struct Group {
    uint64_t correlation_id;
    Target target;
    uint32_t stream;
    uint32_t next_node;
    uint32_t template_begin, template_nodes;  // in predictions_; 0 nodes: none
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
  struct Exception {
    uint64_t record;
    uint32_t site, attributes;
  };

  void SplitAndSort();
  uint32_t GroupOf(const RecordEntry&);
  uint32_t SiteOf(const RecordEntry&) const;
  void NoteRecord(const RecordEntry&, uint64_t position, bool timed);
  void CollectSites();
  void FormGroups();
  void ChooseTemplates();
  Prediction Predict(const Group&, const RecordEntry&, Prediction actual);
  void EncodeLaunches(std::string& message);
  void EncodeRecords(std::string& message);
  uint8_t* Reserve(size_t bytes);

  std::vector<LaunchEntry> launches_;
  std::vector<RecordEntry> records_;

  std::vector<SortKey> timed_;
  std::vector<uint32_t> untimed_;
  std::vector<Group> groups_;
  std::vector<uint32_t> group_slots_;  // open addressing, group index + 1
  uint32_t last_group_ = 0;
  std::vector<uint32_t> record_groups_;  // of timed_, then untimed_
  std::vector<TargetUse> target_uses_;   // by target on the wire, default between chunks
  std::vector<uint32_t> used_targets_;
  std::vector<Prediction> predictions_;
  std::vector<Exception> exceptions_;
  std::vector<uint8_t> scratch_;

  std::vector<uint32_t> site_attributes_;  // by site id
  std::vector<std::pair<uint32_t, uint32_t>> new_site_attributes_;
  std::vector<SiteSum> site_sums_;  // by site id, zero between chunks
  std::vector<uint32_t> touched_sites_;

  uint64_t last_start_on_disk_ns_ = 0;
  ColumnStatistics statistics_;
};

}  // namespace hotproof::trace
