#include "cupti_tracer/core/streams.h"

#include "cupti_tracer/core/launch_cache.h"

namespace hotproof::tracer {
namespace {

constexpr uint32_t kUnknownDevice = UINT32_MAX;

}  // namespace

uint32_t Streams::Find(CUcontext context, uint32_t context_id, CUstream stream, bool per_thread) {
  LaunchMemory* memory = LaunchMemory::Get();
  StreamCache* cache = memory == nullptr ? nullptr : &memory->streams;
  if (cache != nullptr) {
    if (const uint32_t id = FindCached(*cache, context, stream, per_thread)) return id;
  }
  const uint32_t generation = generation_.load(std::memory_order_relaxed);
  uint32_t stream_id = 0, device_id = 0;
  if (cupti_.GetStreamIdEx == nullptr ||
      cupti_.GetStreamIdEx(context, stream, per_thread ? 1 : 0, &stream_id) != CUPTI_SUCCESS) {
    return 0;
  }
  if (cupti_.GetDeviceId != nullptr) cupti_.GetDeviceId(context, &device_id);
  uint32_t id;
  {
    std::lock_guard lock(file_.mutex());
    id = InternLocked(device_id, context_id, stream_id);
  }
  if (cache != nullptr) {
    cache->streams[cache->next++ % StreamCache::kStreams] = {context, stream, generation, id,
                                                             per_thread};
  }
  return id;
}

uint32_t Streams::FindAnywhere(CUstream stream) {
  CUcontext context = nullptr;
  uint32_t context_id = 0;
  if (driver_.StreamGetCtx == nullptr || driver_.StreamGetCtx(stream, &context) != CUDA_SUCCESS ||
      cupti_.GetContextId == nullptr ||
      cupti_.GetContextId(context, &context_id) != CUPTI_SUCCESS) {
    return 0;
  }
  return Find(context, context_id, stream, /*per_thread=*/false);
}

uint32_t Streams::InternLocked(uint32_t device_id, uint32_t context_id, uint32_t stream_id) {
  const std::tuple key(device_id, context_id, stream_id);
  if (last_id_ != 0 && key == last_key_) return last_id_;
  const auto [found, inserted] = ids_.emplace(key, static_cast<uint32_t>(ids_.size() + 1));
  if (inserted) {
    if (device_id != kUnknownDevice) device_of_context_.emplace(context_id, device_id);
    if (trace::Writer* writer = file_.writer_locked()) {
      writer->AddStream({.id = found->second,
                         .device_id = device_id,
                         .context_id = context_id,
                         .stream_id = stream_id});
    }
  }
  last_key_ = key;
  last_id_ = found->second;
  return last_id_;
}

uint32_t Streams::InternOfContextLocked(uint32_t context_id, uint32_t stream_id) {
  const auto device = device_of_context_.find(context_id);
  return InternLocked(device == device_of_context_.end() ? kUnknownDevice : device->second,
                      context_id, stream_id);
}

}  // namespace hotproof::tracer
