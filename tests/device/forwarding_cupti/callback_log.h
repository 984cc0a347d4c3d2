// Writes one callback as one line of the log. Called inside the callback, on its thread, before the
// client sees it; asks the real CUPTI for ids and reads nothing that a callback may leave undefined
// without care.
#pragma once

#include <cuda.h>
#include <cupti.h>

namespace forwarder {

// A driver or runtime call's entry or exit; `event` is "driver" or "runtime".
void LogApi(const char* event, CUpti_CallbackId id, const CUpti_CallbackData& data, bool driver);
void LogResource(CUpti_CallbackId id, const void* cbdata);
void LogState(CUpti_CallbackId id, const void* cbdata);

}  // namespace forwarder
