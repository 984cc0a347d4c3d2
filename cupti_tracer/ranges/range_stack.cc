#include "cupti_tracer/ranges/range_stack.h"

#include <pthread.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>

#include "cupti_tracer/core/guard.h"

namespace hotproof::tracer {
namespace {

// The longest prefix of at most Range::kMaxNameBytes that cuts no UTF-8 sequence in two.
size_t BytesKept(std::string_view name) {
  if (name.size() <= Range::kMaxNameBytes) return name.size();
  size_t bytes = Range::kMaxNameBytes;
  while (bytes > 0 && (static_cast<unsigned char>(name[bytes]) & 0xC0) == 0x80) --bytes;
  return Range::kMaxNameBytes - bytes > 3 ? Range::kMaxNameBytes : bytes;  // no UTF-8
}

// The level of a range that begins now: one above the last of its domain.
uint32_t NextLevel(const ThreadRanges& stack, RangeSource source, uint32_t domain) {
  for (uint32_t i = std::min(stack.deeper, ThreadRanges::kMaxDeeper); i-- > 0;) {
    const ThreadRanges::Deeper& range = stack.deeper_ranges[i];
    if (range.domain == domain && range.source == source) return range.level + 1;
  }
  for (uint32_t i = stack.kept; i-- > 0;) {
    const ThreadRanges::Frame& frame = stack.frames[i];
    if (frame.range.domain == domain && frame.range.source == source) return frame.level + 1;
  }
  return 0;
}

template <typename Item>
void Remove(Item* items, uint32_t& count, uint32_t place) {
  const uint32_t above = --count - place;
  if (above != 0) std::memmove(&items[place], &items[place + 1], above * sizeof(Item));
}

}  // namespace

void Range::Set(const RangeLabel& label) {
  name_bytes = static_cast<uint8_t>(BytesKept(label.name));
  if (name_bytes != 0) std::memcpy(text, label.name.data(), name_bytes);
  domain = label.domain;
  source = label.source;
  payload_kind = label.payload_kind;
  payload = label.payload;
  const uint64_t rest[] = {payload, uint64_t{domain} << 32 | static_cast<uint64_t>(source) << 8 |
                                        static_cast<uint64_t>(payload_kind)};
  hash = XXH3_64bits_withSeed(rest, sizeof rest, XXH3_64bits(text, name_bytes));
}

int PushRange(const RangeLabel& label) noexcept {
  ThreadRanges* const stack = ThreadRanges::Get();
  if (stack == nullptr) {
    LostWork().fetch_add(1, std::memory_order_relaxed);
    return -1;
  }
  if (!ranges_in_use.load(std::memory_order_relaxed)) ranges_in_use.store(true);
  const uint32_t level = NextLevel(*stack, label.source, label.domain);
  if (stack->kept == ThreadRanges::kMaxDepth || stack->deeper != 0) {
    const uint32_t place = stack->deeper++;
    if (place < ThreadRanges::kMaxDeeper) {
      stack->deeper_ranges[place] = {label.domain, level, label.source};
    }
  } else {
    ThreadRanges::Frame& frame = stack->frames[stack->kept++];
    frame.range.Set(label);
    frame.level = level;
  }
  return static_cast<int>(level);
}

int PopRange(RangeSource source, uint32_t domain) noexcept {
  ThreadRanges* const stack = ThreadRanges::Find();
  if (stack == nullptr) return -1;
  if (stack->deeper > ThreadRanges::kMaxDeeper) {
    --stack->deeper;
    return static_cast<int>(NextLevel(*stack, source, domain));
  }
  for (uint32_t place = stack->deeper; place-- > 0;) {
    const ThreadRanges::Deeper range = stack->deeper_ranges[place];
    if (range.domain != domain || range.source != source) continue;
    Remove(stack->deeper_ranges, stack->deeper, place);
    return static_cast<int>(range.level);
  }
  for (uint32_t place = stack->kept; place-- > 0;) {
    const ThreadRanges::Frame& frame = stack->frames[place];
    if (frame.range.domain != domain || frame.range.source != source) continue;
    const auto level = static_cast<int>(frame.level);
    Remove(stack->frames, stack->kept, place);
    stack->resolved = std::min(stack->resolved, place);
    stack->deeper_path = 0;
    return level;
  }
  return -1;
}

namespace {

struct OpenRanges {
  std::mutex mutex;
  std::map<uint64_t, Range> by_order;
  std::unordered_map<uint64_t, uint64_t> order_of_id;
  uint64_t next_order = 1;
  uint64_t not_kept = 0;  // started beyond the limit and not ended
};

// Made at the first start, never destroyed. No other thread holds its lock in a forked child.
OpenRanges& All() {
  static OpenRanges* const all = [] {
    auto* made = new OpenRanges;
    pthread_atfork([] { All().mutex.lock(); }, [] { All().mutex.unlock(); },
                   [] { All().mutex.unlock(); });
    return made;
  }();
  return *all;
}

}  // namespace

void ProcessRanges::Prepare() { All(); }

uint64_t ProcessRanges::NewId() {
  static constinit std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void ProcessRanges::Start(uint64_t id, const RangeLabel& label) {
  OpenRanges& all = All();
  std::lock_guard lock(all.mutex);
  if (all.by_order.size() >= kMaxOpen) {
    ++all.not_kept;
  } else {
    const uint64_t order = all.next_order++;
    // An id that comes again replaces the range that was never ended.
    const auto [known, is_new] = all.order_of_id.emplace(id, order);
    if (!is_new) {
      all.by_order.erase(known->second);
      known->second = order;
    }
    all.by_order[order].Set(label);
  }
  version_.fetch_add(1, std::memory_order_release);
  ranges_in_use.store(true);
}

void ProcessRanges::End(uint64_t id) {
  OpenRanges& all = All();
  std::lock_guard lock(all.mutex);
  const auto known = all.order_of_id.find(id);
  if (known != all.order_of_id.end()) {
    all.by_order.erase(known->second);
    all.order_of_id.erase(known);
  } else if (all.not_kept > 0) {
    --all.not_kept;
  } else {
    return;
  }
  version_.fetch_add(1, std::memory_order_release);
}

ProcessRanges::Open ProcessRanges::Get(size_t most) {
  OpenRanges& all = All();
  Open open;
  std::lock_guard lock(all.mutex);
  open.version = version_.load(std::memory_order_relaxed);
  for (const auto& [order, range] : all.by_order) {
    if (open.first.size() >= most) break;
    open.first.push_back(range);
  }
  open.others = all.by_order.size() - open.first.size() + all.not_kept;
  return open;
}

}  // namespace hotproof::tracer
