#include "cupti_tracer/ranges/range_paths.h"

#include <xxhash.h>

#include <string>
#include <utility>

#include "cupti_tracer/core/thread_cache.h"
#include "cupti_tracer/ranges/range_domains.h"

namespace hotproof::tracer {
namespace {

// What a thread interned last.
struct ThreadCache {
  static constexpr size_t kPaths = 512;
  struct {
    uint64_t key;
    uint32_t id;
    uint32_t instance;
  } paths[kPaths];
};

uint64_t KeyOf(uint32_t parent, uint64_t range_hash) {
  return XXH3_64bits_withSeed(&parent, sizeof parent, range_hash);
}

}  // namespace

bool RangePaths::FindInThread(RangeIds& ids) const noexcept {
  const ThreadRanges* const thread = ThreadRanges::Find();
  const uint64_t process_version = ProcessRanges::Version();
  if (thread == nullptr) return process_version == 0;
  if (thread->instance != instance_ || thread->resolved != thread->kept ||
      thread->process_version != process_version) {
    return thread->kept + thread->deeper == 0 && process_version == 0;
  }
  if (thread->deeper != 0) {
    ids.thread = thread->deeper_path;
    if (ids.thread == 0) return false;
  } else if (thread->kept != 0) {
    ids.thread = thread->frames[thread->kept - 1].path;
  }
  ids.process = thread->process_path;
  return true;
}

RangeIds RangePaths::CurrentSlow() {
  ThreadRanges* const thread = ThreadRanges::Get();
  if (thread == nullptr) return {};
  if (thread->instance != instance_) {
    thread->instance = instance_;
    thread->resolved = thread->deeper_path = thread->process_path = 0;
    thread->process_version = 0;
  }
  if (thread->process_version != ProcessRanges::Version()) {
    thread->process_path = ProcessPath(*thread);
  }
  while (thread->resolved < thread->kept) {
    thread->deeper_path = 0;
    ThreadRanges::Frame& frame = thread->frames[thread->resolved];
    frame.path = Intern(
        thread->resolved == 0 ? 0 : thread->frames[thread->resolved - 1].path, frame.range);
    ++thread->resolved;
  }
  const uint32_t top = thread->kept == 0 ? 0 : thread->frames[thread->kept - 1].path;
  if (thread->deeper == 0) return {top, thread->process_path};
  if (thread->deeper_path == 0) {
    std::lock_guard lock(file_.mutex());
    thread->deeper_path = ManyLocked(top);
  }
  return {thread->deeper_path, thread->process_path};
}

uint32_t RangePaths::ProcessPath(ThreadRanges& thread) {
  const ProcessRanges::Open open = ProcessRanges::Get(kMaxProcessRanges);
  uint32_t path = 0;
  for (const Range& range : open.first) path = Intern(path, range);
  if (open.others != 0) {
    std::lock_guard lock(file_.mutex());
    path = ManyLocked(path);
  }
  thread.process_version = open.version;
  return path;
}

uint32_t RangePaths::Intern(uint32_t parent, const Range& range) {
  ThreadCache* const cache = ThreadCacheOf<ThreadCache>::Get();
  const uint64_t key = KeyOf(parent, range.hash);
  auto* const slot = cache == nullptr ? nullptr : &cache->paths[key % ThreadCache::kPaths];
  if (slot != nullptr && slot->key == key && slot->instance == instance_) return slot->id;
  std::lock_guard lock(file_.mutex());
  const uint32_t id = InternLocked(parent, range);
  if (slot != nullptr) *slot = {key, id, instance_};
  return id;
}

uint32_t RangePaths::InternLocked(uint32_t parent, const Range& range) {
  if (paths_[parent].is_many) return parent;
  const uint64_t key = KeyOf(parent, range.hash);
  const auto known = ids_.find(key);
  if (known != ids_.end()) return known->second;
  const bool full = paths_.size() > kMaxPaths;
  const bool room = !full && paths_[parent].children < kMaxChildren;
  if (range.payload_kind != PayloadKind::kNone && range.payload_kind != PayloadKind::kVaries) {
    Range varies;
    varies.Set({range.name(), range.domain, range.source, PayloadKind::kVaries, 0});
    const uint64_t any_payload = KeyOf(parent, varies.hash);
    const auto payloads = payloads_.find(any_payload);
    if (payloads != payloads_.end() && payloads->second >= kMaxPayloads) {
      return InternLocked(parent, varies);
    }
    if (room) ++payloads_[any_payload];  // no more entries than paths
  }
  if (full) return ManyLocked(0);
  if (!room) return ManyLocked(parent);
  const uint32_t id = AddLocked(parent, range);
  ids_.emplace(key, id);
  ++paths_[parent].children;
  return id;
}

uint32_t RangePaths::AddLocked(uint32_t parent, const Range& range) {
  const auto id = static_cast<uint32_t>(paths_.size());
  paths_.emplace_back();
  if ((range.domain == kMaxDomains || range.name() == "(many)") &&
      !std::exchange(names_reported_, true)) {
    file_.AddProblemLocked(ProblemKind::kRangesNotKept, 1, "names of NVTX");
  }
  if (trace::Writer* writer = file_.writer_locked()) {
    const std::string domain = RangeDomainName(range.domain);
    writer->AddRangePath({.id = id,
                          .parent = parent,
                          .name = range.name(),
                          .domain = domain,
                          .source = static_cast<uint32_t>(range.source),
                          .payload_kind = static_cast<uint32_t>(range.payload_kind),
                          .payload = range.payload});
  }
  return id;
}

uint32_t RangePaths::ManyLocked(uint32_t parent) {
  if (paths_[parent].is_many) return parent;
  if (paths_[parent].many != 0) return paths_[parent].many;
  const auto id = static_cast<uint32_t>(paths_.size());
  paths_.emplace_back().is_many = true;
  paths_[parent].many = id;
  if (trace::Writer* writer = file_.writer_locked()) {
    writer->AddRangePath({.id = id, .parent = parent, .many = true});
  }
  return id;
}

}  // namespace hotproof::tracer
