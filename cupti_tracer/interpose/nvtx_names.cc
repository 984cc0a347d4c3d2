#include "cupti_tracer/interpose/nvtx_names.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cupti_tracer/ranges/range_domains.h"
#include "cupti_tracer/ranges/range_stack.h"

namespace hotproof::tracer {
namespace {

struct Names {
  struct Slot {
    std::atomic<const void*> handle{nullptr};
    std::atomic<const NvtxText*> text{nullptr};
  };
  static constexpr size_t kSlots = 2 * NvtxNames::kMaxHandles;

  std::mutex mutex;  // of what follows, but for reading slots
  std::unique_ptr<Slot[]> slots{new Slot[kSlots]};
  size_t handles = 0;
  std::deque<NvtxText> texts;
  std::unordered_map<std::string_view, const NvtxText*> strings, domains;
  NvtxText many{std::string(NvtxNames::kMany), kMaxDomains};

  static size_t PlaceOf(const void* handle) {
    return (reinterpret_cast<uintptr_t>(handle) * 0x9e3779b97f4a7c15u >> 32) % kSlots;
  }
  const NvtxText* Intern(std::unordered_map<std::string_view, const NvtxText*>& known,
                         std::string_view text, uint32_t domain) {
    const auto found = known.find(text);
    if (found != known.end()) return found->second;
    if (texts.size() >= NvtxNames::kMaxTexts) return &many;
    const NvtxText& made = texts.emplace_back(NvtxText{std::string(text), domain});
    known.emplace(made.text, &made);
    return &made;
  }
  const void* Add(const void* given, const NvtxText* text) {
    const void* const handle = given == nullptr ? text : given;
    for (size_t place = PlaceOf(handle);; place = (place + 1) % kSlots) {
      Slot& slot = slots[place];
      const void* const there = slot.handle.load(std::memory_order_relaxed);
      if (there == handle) {  // a tool may use it again
        slot.text.store(text, std::memory_order_release);
        return handle;
      }
      if (there != nullptr) continue;
      if (handles >= NvtxNames::kMaxHandles) return handle;
      ++handles;
      slot.text.store(text, std::memory_order_release);
      slot.handle.store(handle, std::memory_order_release);
      return handle;
    }
  }
};

std::atomic<Names*> made_names{nullptr};

// Made with the first name, never destroyed. No other thread holds its lock in a forked child.
Names& All() {
  static Names* const all = [] {
    auto* made = new Names;
    made_names.store(made, std::memory_order_release);
    pthread_atfork([] { All().mutex.lock(); }, [] { All().mutex.unlock(); },
                   [] { All().mutex.unlock(); });
    return made;
  }();
  return *all;
}

}  // namespace

void NvtxNames::Prepare() { All(); }

const void* NvtxNames::AddString(const void* given, std::string_view text) {
  text = text.substr(0, Range::kMaxNameBytes + 1);  // one more: a cut is seen, and made, by Range
  Names& all = All();
  std::lock_guard lock(all.mutex);
  return all.Add(given, all.Intern(all.strings, text, kDefaultDomain));
}

const void* NvtxNames::AddDomain(const void* given, std::string_view name) {
  const uint32_t domain = RangeDomainOf(name);
  Names& all = All();
  std::lock_guard lock(all.mutex);
  return all.Add(given, all.Intern(all.domains, name.substr(0, Range::kMaxNameBytes), domain));
}

const NvtxText* NvtxNames::Find(const void* handle) {
  const Names* const all = made_names.load(std::memory_order_acquire);
  if (all == nullptr || handle == nullptr) return nullptr;
  for (size_t place = Names::PlaceOf(handle);; place = (place + 1) % Names::kSlots) {
    const Names::Slot& slot = all->slots[place];
    const void* const there = slot.handle.load(std::memory_order_acquire);
    if (there == handle) return slot.text.load(std::memory_order_acquire);
    if (there == nullptr) return nullptr;
  }
}

std::string_view KeptOfPushed(std::string_view name) {
  constexpr std::string_view kModule = "{'Module': '";
  if (name.starts_with(kModule)) {
    const std::string_view module = name.substr(kModule.size());
    return module.substr(0, std::min(module.find('\''), module.size()));
  }
  for (const std::string_view mark : {", op_id = ", ", seq = "}) {
    const size_t digits = name.find_last_not_of("0123456789") + 1;
    const std::string_view head = name.substr(0, digits);
    if (digits != name.size() && head.ends_with(mark)) name = head.substr(0, digits - mark.size());
  }
  return name;
}

std::string FromWide(const wchar_t* wide) {
  std::string text;
  if (wide == nullptr) return text;
  for (; *wide != L'\0' && text.size() <= Range::kMaxNameBytes; ++wide) {
    auto c = static_cast<uint32_t>(*wide);
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
    if (c < 0x80) {
      text.push_back(static_cast<char>(c));
      continue;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    const uint32_t lead[] = {0, 0xC0, 0xE0, 0xF0};
    text.push_back(static_cast<char>(lead[more] | c >> 6 * more));
    for (int i = more; i-- > 0;) text.push_back(static_cast<char>(0x80 | (c >> 6 * i & 0x3F)));
  }
  return text;
}

}  // namespace hotproof::tracer
