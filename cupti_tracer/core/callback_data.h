// What the callback files share: the call that a thread is in, and how to read a call's data. Used
// inside CUPTI's callbacks alone.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstdint>

#include "cupti_tracer/core/library_call.h"

namespace hotproof::tracer {

struct LaunchMemory;

// The launching or node-adding call that this thread is in.
struct CurrentCall {
  CUpti_CallbackId id = 0;
  const void* params = nullptr;  // the driver's own, until the call returns
  const char* symbol_name = nullptr;
  bool active = false;
  bool captured = false;  // a node was created in it: no launch
  uint64_t enter_ns = 0;  // CLOCK_MONOTONIC; 0: nothing is timed
  // The call is over; whether it made a node instead of a launch.
  bool EndCaptured() {
    const bool was_captured = captured;
    active = captured = false;
    return was_captured;
  }
};

// What callbacks keep of a thread. In one block: to find a thread's variables costs a call each
// time.
struct CallbackThread {
  bool inside = false;         // our own driver calls come back as callbacks of the same thread
  uint32_t loads_in_call = 0;  // modules loaded in the driver call that it is in
  CurrentCall call;
  LibraryCallState library_call{};
  LaunchMemory* launches = nullptr;  // launch_cache.h; null: it launched nothing yet
  // A driver call begins in this thread.
  void OnCallEntered() { loads_in_call = 0; }
};
inline constinit thread_local CallbackThread callback_thread;
// The same, looked up once: a compiler that knows what the reference stands for looks it up at each
// use.
inline CallbackThread& ThisCallbackThread() {
  CallbackThread* thread = &callback_thread;
  asm("" : "+r"(thread));
  return *thread;
}

template <typename Params>
const Params& ParamsOf(const CUpti_CallbackData& data) {
  return *static_cast<const Params*>(data.functionParams);
}

inline bool Succeeded(const CUpti_CallbackData& data) {
  return data.functionReturnValue != nullptr &&
         *static_cast<const CUresult*>(data.functionReturnValue) == CUDA_SUCCESS;
}

}  // namespace hotproof::tracer
