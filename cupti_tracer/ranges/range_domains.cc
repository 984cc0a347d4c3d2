#include "cupti_tracer/ranges/range_domains.h"

#include <pthread.h>

#include <deque>
#include <mutex>
#include <unordered_map>

#include "cupti_tracer/ranges/range_stack.h"

namespace hotproof::tracer {
namespace {

struct Domains {
  std::mutex mutex;
  std::deque<std::string> names = {""};
  std::unordered_map<std::string_view, uint32_t> numbers = {{names[0], kDefaultDomain}};
};

// Never destroyed. No other thread holds its lock in a forked child.
Domains& All() {
  static Domains* const all = [] {
    auto* made = new Domains;
    pthread_atfork([] { All().mutex.lock(); }, [] { All().mutex.unlock(); },
                   [] { All().mutex.unlock(); });
    return made;
  }();
  return *all;
}

}  // namespace

uint32_t RangeDomainOf(std::string_view name) {
  name = name.substr(0, Range::kMaxNameBytes);
  Domains& all = All();
  std::lock_guard lock(all.mutex);
  const auto known = all.numbers.find(name);
  if (known != all.numbers.end()) return known->second;
  const auto number = static_cast<uint32_t>(all.names.size());
  if (number >= kMaxDomains) return kMaxDomains;
  all.names.emplace_back(name);
  all.numbers.emplace(all.names.back(), number);
  return number;
}

std::string RangeDomainName(uint32_t domain) {
  if (domain == kMaxDomains) return "(many domains)";
  Domains& all = All();
  std::lock_guard lock(all.mutex);
  return domain < all.names.size() ? all.names[domain] : "";
}

}  // namespace hotproof::tracer
