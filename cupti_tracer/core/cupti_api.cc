#include "cupti_tracer/core/cupti_api.h"

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <string_view>

#include "trace/cupti_search.h"

namespace hotproof::tracer {
namespace {

std::string PathOf(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) {
    return "";
  }
  return map->l_name;
}

void* Find(const Config& config, std::string& error) {
  const auto open = [&error](const std::string& name, int flags) -> void* {
    void* handle = dlopen(name.c_str(), flags);
    if (handle == nullptr) {
      const char* text = dlerror();
      if (text != nullptr && (flags & RTLD_NOLOAD) == 0) error = text;
    }
    return handle;
  };
  if (config.cupti_path.empty()) {
    for (std::string_view soname : trace::kCuptiSonames) {
      if (void* handle = open(std::string(soname), RTLD_NOW | RTLD_NOLOAD)) return handle;
    }
  }
  for (const trace::CuptiCandidate& candidate :
       trace::CuptiCandidates(config.cupti_path, config.cuda_home)) {
    if (void* handle = open(candidate.name, RTLD_NOW)) return handle;
  }
  return nullptr;
}

}  // namespace

Cupti Cupti::Load(const Config& config) {
  Cupti cupti;
  void* handle = Find(config, cupti.load_error);
  if (handle == nullptr) return cupti;
  cupti.path = PathOf(handle);
  if (cupti.path.empty()) cupti.path = "libcupti (path unknown)";
#define HOTPROOF_FIND(member, symbol) \
  cupti.member = reinterpret_cast<decltype(cupti.member)>(dlsym(handle, #symbol));
#define HOTPROOF_FIND_REQUIRED(member, symbol) \
  HOTPROOF_FIND(member, symbol)                \
  if (cupti.member == nullptr) cupti.missing_required.push_back(#symbol);
#define HOTPROOF_FIND_TIMING(member, symbol) \
  HOTPROOF_FIND(member, symbol)              \
  if (cupti.member == nullptr) cupti.missing_timing.push_back(#symbol);
#define HOTPROOF_FIND_USEFUL(member, symbol) \
  HOTPROOF_FIND(member, symbol)              \
  if (cupti.member == nullptr) cupti.missing_useful.push_back(#symbol);
  HOTPROOF_CUPTI_REQUIRED(HOTPROOF_FIND_REQUIRED)
  HOTPROOF_CUPTI_TIMING(HOTPROOF_FIND_TIMING)
  HOTPROOF_CUPTI_USEFUL(HOTPROOF_FIND_USEFUL)
  HOTPROOF_CUPTI_OPTIONAL(HOTPROOF_FIND)
#undef HOTPROOF_FIND_REQUIRED
#undef HOTPROOF_FIND_USEFUL
#undef HOTPROOF_FIND_TIMING
#undef HOTPROOF_FIND
  if (cupti.GetVersion != nullptr) cupti.GetVersion(&cupti.version);
  return cupti;
}

const char* Cupti::ResultName(CUptiResult result) const {
  const char* text = nullptr;
  if (GetResultString == nullptr || GetResultString(result, &text) != CUPTI_SUCCESS) return "?";
  return text;
}

Driver Driver::Load() {
  Driver driver;
  void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return driver;
#define HOTPROOF_FIND(member, symbol) \
  driver.member = reinterpret_cast<decltype(driver.member)>(dlsym(handle, #symbol));
  HOTPROOF_DRIVER(HOTPROOF_FIND)
#undef HOTPROOF_FIND
  return driver;
}

}  // namespace hotproof::tracer
