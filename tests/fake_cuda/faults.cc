#include "tests/fake_cuda/faults.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace fake_cuda {
namespace {

Faults Parse(const char* text) {
  Faults faults;
  const struct {
    std::string_view name;
    uint64_t* value;
  } numbers[] = {
      {"dropped_records", &faults.dropped_records}, {"zero_timestamps", &faults.zero_timestamps},
      {"kill_at_launch", &faults.kill_at_launch},   {"fatal_at_launch", &faults.fatal_at_launch},
      {"lost_records", &faults.lost_records},       {"late_correlation", &faults.late_correlation},
      {"cupti_version", &faults.cupti_version}};
  const struct {
    std::string_view name;
    bool* value;
  } switches[] = {{"another_subscriber", &faults.another_subscriber},
                  {"disable_deadlocks", &faults.disable_deadlocks},
                  {"foreign_buffer", &faults.foreign_buffer}};
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::string_view name = item.substr(0, item.find('='));
    const uint64_t number =
        name.size() == item.size() ? 0 : strtoull(item.data() + name.size() + 1, nullptr, 10);
    bool known = false;
    for (const auto& entry : switches) {
      if (entry.name != name) continue;
      *entry.value = known = true;
    }
    for (const auto& entry : numbers) {
      if (entry.name != name || number == 0) continue;
      *entry.value = number;
      known = true;
    }
    if (!known) {
      fprintf(stderr, "fake_cuda: FAKE_CUDA_FAULTS: no fault '%.*s'\n",
              static_cast<int>(item.size()), item.data());
      _exit(71);
    }
  }
  return faults;
}

}  // namespace

const Faults& GetFaults() {
  static const Faults faults = [] {
    const char* text = getenv("FAKE_CUDA_FAULTS");
    return Parse(text == nullptr ? "" : text);
  }();
  return faults;
}

}  // namespace fake_cuda
