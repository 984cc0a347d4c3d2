// What CUPTI calls. On the application's own threads, inside its CUDA calls: nothing here throws, logs,
// waits for the GPU, or holds the trace's lock across a call into CUPTI or the driver.
#pragma once

#include <cupti.h>

#include <span>

namespace hotproof::tracer {

struct CallbackId {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
};
// The callbacks to enable. A CUPTI version that lacks one refuses it.
std::span<const CallbackId> CallbacksToEnable();
// Without this one the counts would be wrong.
bool IsCallbackRequired(const CallbackId& callback);

void CUPTIAPI OnCallback(void* session, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                         const void* data);
void CUPTIAPI OnBufferRequested(uint8_t** buffer, size_t* size, size_t* max_records);
void CUPTIAPI OnBufferCompleted(CUcontext context, uint32_t stream_id, uint8_t* buffer, size_t size,
                                size_t valid_size);

}  // namespace hotproof::tracer
