// Known faults of CUPTI by version, as data. The tracer looks up what it has to avoid and names the
// faults that apply in the trace's header; `hotproof doctor` prints them. No dependencies,
// constexpr, safe on any thread.
//
// Versions are CUPTI_API_VERSION: 24 is CUDA 12.6, 26 is 12.8, 27 is 12.9, 28 is 12.9 Update 1;
// from 13.0 on it is major * 10000 + minor * 100 + update (130001 is 13.0 Update 1). Sources:
// NVIDIA's CUPTI release notes and headers, the named issue trackers, and measurements on an H200
// with CUPTI 130001.
#pragma once

#include <cstdint>
#include <string_view>

namespace hotproof::trace {

inline constexpr uint32_t kOldestSupportedCupti = 24;  // 12.6
inline constexpr uint32_t kNewestSupportedCupti =
    139999;  // any 13.x; a newer major is only counted
inline constexpr uint32_t kAnyVersion = UINT32_MAX;

struct CuptiQuirk {
  std::string_view id;     // short, stable: stored in trace headers
  uint32_t first_version;  // CUPTI_API_VERSION, inclusive; 0: since ever
  uint32_t last_version;   // inclusive; kAnyVersion: no fixed version is known
  std::string_view behaviour;
  std::string_view response;  // what hotproof does, or what the reader has to know

  constexpr bool AppliesTo(uint32_t version) const {
    return version >= first_version && version <= last_version;
  }
};

inline constexpr CuptiQuirk kCuptiQuirks[] = {
    {"null_buffer_crash", 0, 26,
     "returning no activity buffer from the request callback crashes the process",
     "a discard buffer is always given; its records are counted and dropped"},
    {"shared_activity_buffers", 0, 28,
     "activity buffers are shared by all threads by default (per thread from 13.0 on)",
     "the default is kept: changing it while collecting is undefined"},
    {"graph_updates_unreported", 0, 28,
     "no callback when a graph node is updated, and its stored data is stale afterwards",
     "replays of an updated graph are marked: its nodes are unattributed"},
    {"conditional_nodes_unsupported", 0, 25,
     "kernels inside conditional graph nodes are not recorded (and need driver 565 from 12.8 on)",
     "graphs with conditional bodies are LOWER_BOUND"},
    {"disable_deadlock", 0, 130000,
     "disabling an activity kind while kernels are launched can deadlock",
     "no kind is disabled: when the trace cannot be written, records are discarded as they come"},
    {"flush_crash", 130000, 130000, "cuptiActivityFlushAll can crash (fixed in 13.0 Update 1)",
     "run with a newer CUPTI, or with HOTPROOF_MODE=count, which never flushes"},
    {"graph_correlation_after_restart", 0, 130100,
     "correlation ids of graph kernels can be wrong after collection was stopped and started again",
     "collection is started once a process and never restarted"},
    {"graph_memcpy_leak", 0, 130299,
     "memory grows with each replay of a graph that has memcpy or memset nodes",
     "watch the process's memory in long runs, or use HOTPROOF_MODE=count"},
    {"long_run_cpu_growth", 0, 130400,
     "CPU time per record grows in long runs, and kernel names go stale after a module is reloaded",
     "handles are forgotten at module unload; use HOTPROOF_MODE=count for runs of many hours"},
    {"zero_timestamps_with_callback", 24, 130199,
     "timestamps can become zero when a timestamp callback is registered",
     "no timestamp callback is registered"},
    {"enabled_before_cuda_first_disable", 130000, 130099,
     "a kind enabled before CUDA starts goes on recording after its first disable",
     "kinds are enabled once a context exists"},
    {"timestamp_before_cuda", 0, kAnyVersion,
     "cuptiGetTimestamp before CUDA has started shifts later timestamps",
     "clocks are paired from the first record on"},
    {"interpolated_clock", 0, kAnyVersion,
     "timestamps are an interpolation of CLOCK_REALTIME and drift between calibrations",
     "clock pairs are stored with every flush"},
    {"zero_timestamps_undropped", 0, kAnyVersion,
     "records can lose both timestamps without counting as dropped",
     "such records are counted apart, as executed and not timed"},
    {"flush_withholds_unfinished", 0, kAnyVersion,
     "a flush keeps back every buffer that holds one unfinished record", "buffers are small"},
    {"device_launches_unrecorded", 0, kAnyVersion,
     "kernels launched from the device are never recorded",
     "processes that can do so are marked LOWER_BOUND"},
    {"one_subscriber", 0, 130299,
     "one subscriber a process: a second tool gets nothing, or silently takes over the buffers",
     "another subscriber is reported in the trace; don't profile with two tools at a time"},
};

// Whether the fault `id` of the table is in this CUPTI. No such id: false; tests name what exists.
constexpr bool QuirkApplies(std::string_view id, uint32_t version) {
  for (const CuptiQuirk& quirk : kCuptiQuirks) {
    if (quirk.id == id) return quirk.AppliesTo(version);
  }
  return false;
}

}  // namespace hotproof::trace
