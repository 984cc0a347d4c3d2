// The counter file (.hpc), a shared mapping of relaxed counters that survives SIGKILL. Each is kept as a
// multiple of kCountUnit, so that damage to a copy shows although no moment is one to hash it at. Created by
// the tracer (CounterTable), read by anyone (ReadCounters in trace/reader.h). Counting is lock-free
// on any thread; one thread constructs and renews it.
#pragma once

#include <atomic>
#include <cstdint>

#include "trace/counter_view.h"
#include "trace/file_identity.h"
#include "trace/format.h"

namespace hotproof::trace {

class CounterTable {
 public:
  // Creates `path` (O_EXCL, 0600, no symlink), reserves its blocks and maps it. When the file
  // cannot be reserved, counts in anonymous memory instead: on_disk() is false and error() is the
  // errno.
  CounterTable(int directory_fd, const char* file_name, uint32_t site_slots, uint32_t graph_slots,
               uint32_t pid, uint64_t process_start_ticks);
  ~CounterTable();
  CounterTable(const CounterTable&) = delete;
  CounterTable& operator=(const CounterTable&) = delete;

  // False: the file of that name is not the one that counts, or there is none. One thread.
  bool Stands(int directory_fd, const char* file_name);
  // The file has been removed or replaced: goes on in a new one of that name, in place of what has it,
  // beside which others count meanwhile; every count is in it when this returns. Returns an errno; not 0:
  // it counts where it did. One thread.
  int Renew(int directory_fd, const char* file_name);

  bool on_disk() const { return on_disk_; }
  int error() const { return error_; }
  uint32_t site_slots() const { return site_slots_; }
  uint32_t graph_slots() const { return graph_slots_; }

  // Ids at or beyond the table count in slot 0.
  void CountSite(uint32_t site_id, uint64_t n = 1) { Add(sites_, site_slots_, site_id, n); }
  void CountGraph(uint32_t graph_id, uint64_t n = 1) { Add(graphs_, graph_slots_, graph_id, n); }

  // A launch call that returned an error.
  void CountRefused() {
    std::atomic_ref(header_->launches_refused).fetch_add(kCountUnit, std::memory_order_relaxed);
  }
  // How many activity records are in the trace. One thread at a time.
  void SetRecordsWritten(uint64_t records) {
    std::atomic_ref(header_->records_written).store(records * kCountUnit, std::memory_order_relaxed);
  }

  Counts sites() const;
  Counts graphs() const;

 private:
  static void Add(std::atomic<uint64_t>* table, uint32_t slots, uint32_t id, uint64_t n) {
    table[id < slots ? id : 0].fetch_add(n * kCountUnit, std::memory_order_relaxed);
  }
  void WriteHeader(uint32_t pid, uint64_t process_start_ticks, const FileIdentity& file);

  CountersHeader* header_ = nullptr;
  std::atomic<uint64_t>* sites_ = nullptr;
  std::atomic<uint64_t>* graphs_ = nullptr;
  uint32_t site_slots_ = 0, graph_slots_ = 0;
  size_t mapped_bytes_ = 0;
  bool on_disk_ = false;
  bool heartbeat_is_seen_ = false;  // by who reads the file: not on every file system
  int error_ = 0;
  CountersHeader last_resort_header_{};  // where not even memory can be mapped
  std::atomic<uint64_t> last_resort_slots_[2] = {};
};

}  // namespace hotproof::trace
