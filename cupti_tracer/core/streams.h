// Interns streams. Find is called in launch callbacks on any thread: this thread's last streams are
// remembered, so a repeated stream costs no CUPTI call and no lock.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <tuple>

#include "cupti_tracer/core/cupti_api.h"
#include "cupti_tracer/core/generation.h"
#include "cupti_tracer/core/trace_file.h"

namespace hotproof::tracer {

// A thread's last streams. Zeroed memory at first.
struct StreamCache {
  static constexpr size_t kStreams = 8;
  struct {
    CUcontext context;
    CUstream stream;
    uint32_t generation;
    uint32_t id;
    bool per_thread;
  } streams[kStreams];
  uint32_t next;
};

class Streams {
 public:
  Streams(TraceFile& file, const Cupti& cupti, const Driver& driver)
      : file_(file), cupti_(cupti), driver_(driver) {}

  // The Stream id of a launch; 0 if CUPTI does not know the stream.
  uint32_t Find(CUcontext context, uint32_t context_id, CUstream stream, bool per_thread);
  // The same if this thread, whose cache it is, has asked lately, else 0. Never waits, never
  // throws.
  uint32_t FindCached(const StreamCache& cache, CUcontext context, CUstream stream,
                      bool per_thread) const noexcept {
    const uint32_t generation = generation_.load(std::memory_order_relaxed);
    for (const auto& entry : cache.streams) {
      if (entry.stream == stream && entry.context == context && entry.generation == generation &&
          entry.per_thread == per_thread) {
        return entry.id;
      }
    }
    return 0;
  }
  // The same for a stream of a context that is not the calling thread's. Asks the driver each time.
  uint32_t FindAnywhere(CUstream stream);
  // Of a record. Trace lock held.
  uint32_t InternLocked(uint32_t device_id, uint32_t context_id, uint32_t stream_id);
  // Of a record that does not tell the device: that of the context's other streams, or
  // trace.proto's value for 'not known'. Trace lock held.
  uint32_t InternOfContextLocked(uint32_t context_id, uint32_t stream_id);
  // A stream or context is going away: its handle may be given out again.
  void ForgetHandles() { generation_.store(NewGeneration(), std::memory_order_relaxed); }

 private:
  TraceFile& file_;
  const Cupti& cupti_;
  const Driver& driver_;
  std::atomic<uint32_t> generation_{NewGeneration()};
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> ids_;  // trace lock
  // The last stream that a record named: records come in runs.
  std::tuple<uint32_t, uint32_t, uint32_t> last_key_;
  uint32_t last_id_ = 0;
  std::map<uint32_t, uint32_t> device_of_context_;  // trace lock
};

}  // namespace hotproof::tracer
