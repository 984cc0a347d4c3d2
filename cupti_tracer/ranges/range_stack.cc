#include "cupti_tracer/ranges/range_stack.h"

#include <pthread.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>

namespace hotproof::tracer {
namespace {

// The longest prefix of at most Range::kMaxNameBytes that cuts no UTF-8 sequence in two.
size_t BytesKept(std::string_view name) {
  if (name.size() <= Range::kMaxNameBytes) return name.size();
  size_t bytes = Range::kMaxNameBytes;
  while (bytes > 0 && (static_cast<unsigned char>(name[bytes]) & 0xC0) == 0x80) --bytes;
  return bytes == 0 ? Range::kMaxNameBytes : bytes;
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

ThreadRanges* ThreadRanges::Make() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, [](void* memory) {
      mine_ = nullptr;
      std::free(memory);
    });
    return made;
  }();
  mine_ = static_cast<ThreadRanges*>(std::calloc(1, sizeof(ThreadRanges)));
  if (mine_ != nullptr) pthread_setspecific(key, mine_);
  return mine_;
}

int PushRange(const RangeLabel& label) noexcept {
  ThreadRanges* const stack = ThreadRanges::Get();
  if (stack == nullptr) return -1;
  if (!ranges_in_use.load(std::memory_order_relaxed)) ranges_in_use.store(true);
  const uint32_t place = stack->depth++;
  if (place >= ThreadRanges::kMaxDepth) return static_cast<int>(place);
  ThreadRanges::Frame& frame = stack->frames[place];
  frame.range.Set(label);
  frame.level = 0;
  for (uint32_t below = place; below-- > 0;) {
    const ThreadRanges::Frame& other = stack->frames[below];
    if (other.range.domain != label.domain || other.range.source != label.source) continue;
    frame.level = other.level + 1;
    break;
  }
  return static_cast<int>(frame.level);
}

int PopRange(RangeSource source, uint32_t domain) noexcept {
  ThreadRanges* const stack = ThreadRanges::Find();
  if (stack == nullptr || stack->depth == 0) return -1;
  // Whose the ranges beyond the limit are is not kept: they are taken to end in order.
  if (stack->depth > ThreadRanges::kMaxDepth) return static_cast<int>(--stack->depth);
  for (uint32_t place = stack->depth; place-- > 0;) {
    const ThreadRanges::Frame& frame = stack->frames[place];
    if (frame.range.domain != domain || frame.range.source != source) continue;
    const int level = static_cast<int>(frame.level);
    const uint32_t above = --stack->depth - place;
    if (above != 0) {
      std::memmove(&stack->frames[place], &stack->frames[place + 1], above * sizeof frame);
    }
    stack->resolved = std::min(stack->resolved, place);
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
