// Names of NVTX domains as small numbers, the same number for the same name. Bounded: domains
// beyond the first kMaxDomains share the number kMaxDomains. Any thread; never shrinks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hotproof::tracer {

inline constexpr uint32_t kDefaultDomain = 0;
inline constexpr uint32_t kMaxDomains = 1024;

// Takes a lock, may run out of memory.
uint32_t RangeDomainOf(std::string_view name);
std::string RangeDomainName(uint32_t domain);

}  // namespace hotproof::tracer
