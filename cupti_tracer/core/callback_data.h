// What the callback files share: the call that a thread is in, and how to read a call's data. Used
// inside CUPTI's callbacks alone.
#pragma once

#include <cuda.h>
#include <cupti.h>

namespace hotproof::tracer {

// The launching or node-adding call that this thread is in.
struct CurrentCall {
  CUpti_CallbackId id = 0;
  CUpti_CallbackData data = {};  // a copy: CUPTI's own lives only during its callback
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
inline constinit thread_local CurrentCall current_call;

template <typename Params>
const Params& ParamsOf(const CUpti_CallbackData& data) {
  return *static_cast<const Params*>(data.functionParams);
}

inline bool Succeeded(const CUpti_CallbackData& data) {
  return data.functionReturnValue != nullptr &&
         *static_cast<const CUresult*>(data.functionReturnValue) == CUDA_SUCCESS;
}

}  // namespace hotproof::tracer
