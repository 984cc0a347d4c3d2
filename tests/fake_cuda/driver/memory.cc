// Device memory is the process's own memory; copies and sets are work for the GPU as kernels are.
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "tests/fake_cuda/driver/driver.h"
#include "tests/fake_cuda/driver/tensor_map_bits.h"

namespace fake_cuda {
namespace {

std::mutex g_mutex;
std::map<CUdeviceptr, size_t>& Allocations() {
  static auto& allocations = *new std::map<CUdeviceptr, size_t>;
  return allocations;
}

constexpr uint64_t kMemoryNs = 1000;

// `synchronous`: the call returns when the work is done, as the null stream's calls do.
void Submit(Work work, CUstream stream, bool synchronous) {
  CUstream s = ResolveStream(stream);
  work.context_id = s->context->id;
  work.stream_id = s->id;
  work.channel_id = s->channel;
  work.correlation_id = CurrentCorrelationId();
  const uint64_t end = Enqueue(s, work, kMemoryNs);
  if (const Tracer* tracer = GetTracer()) tracer->work(work);
  if (synchronous) SleepUntilNs(end);
}

template <typename T>
void Fill(CUdeviceptr to, T value, size_t count) {
  T* data = reinterpret_cast<T*>(to);
  for (size_t i = 0; i < count; ++i) data[i] = value;
}

CUresult Set(CUdeviceptr to, uint32_t value, size_t element, size_t count, CUstream stream,
             bool synchronous) {
  CUstream s = ResolveStream(stream);
  if (s == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (s->capture != nullptr) {
    CUgraphNode_st content;
    content.memset.dst = to;
    content.memset.value = value;
    content.memset.elementSize = static_cast<unsigned>(element);
    content.memset.width = count;
    content.memset.height = 1;
    CaptureNode(s, CU_GRAPH_NODE_TYPE_MEMSET, content);
    return CUDA_SUCCESS;
  }
  if (element == 1) Fill<uint8_t>(to, static_cast<uint8_t>(value), count);
  if (element == 4) Fill<uint32_t>(to, value, count);
  Work work = {};
  work.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  work.bytes = element * count;
  work.value = value;
  work.flags = synchronous ? 0 : 1;
  Submit(work, s, false);
  return CUDA_SUCCESS;
}

// CUPTI's copy kinds: 1 host to device, 2 device to host, 8 device to device; memory kinds 1
// pageable host, 3 device.
CUresult Copy(void* to, const void* from, size_t bytes, uint8_t kind, CUstream stream,
              bool synchronous) {
  CUstream s = ResolveStream(stream);
  if (s == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (s->capture != nullptr) {
    CUgraphNode_st content;
    content.memcpy.srcMemoryType = content.memcpy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    content.memcpy.srcDevice = reinterpret_cast<CUdeviceptr>(from);
    content.memcpy.dstDevice = reinterpret_cast<CUdeviceptr>(to);
    content.memcpy.WidthInBytes = bytes;
    content.memcpy.Height = content.memcpy.Depth = 1;
    CaptureNode(s, CU_GRAPH_NODE_TYPE_MEMCPY, content);
    return CUDA_SUCCESS;
  }
  if (synchronous) SleepUntilNs(s->busy_until_ns.load());
  memmove(to, from, bytes);
  Work work = {};
  work.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  work.bytes = bytes;
  work.copy_kind = kind;
  work.source_kind = kind == 1 ? 1 : 3;
  work.destination_kind = kind == 2 ? 1 : 3;
  work.flags = synchronous ? 0 : 1;
  Submit(work, s, synchronous);
  return CUDA_SUCCESS;
}

// The start of the allocation that `pointer` lies in, or 0.
CUdeviceptr AllocationOf(CUdeviceptr pointer) {
  std::lock_guard<std::mutex> lock(g_mutex);
  auto it = Allocations().upper_bound(pointer);
  if (it == Allocations().begin()) return 0;
  --it;
  return pointer < it->first + it->second ? it->first : 0;
}

void* Host(CUdeviceptr p) { return reinterpret_cast<void*>(p); }

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  FAKE_CALL(cuMemAlloc_v2, pointer, bytes);
  void* memory = aligned_alloc(512, (bytes + 511) / 512 * 512);
  if (memory == nullptr) return call.Return(CUDA_ERROR_OUT_OF_MEMORY);
  *pointer = reinterpret_cast<CUdeviceptr>(memory);
  {
    std::lock_guard<std::mutex> lock(fake_cuda::g_mutex);
    Allocations()[*pointer] = bytes;
  }
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer) {
  FAKE_CALL(cuMemFree_v2, pointer);
  {
    std::lock_guard<std::mutex> lock(fake_cuda::g_mutex);
    Allocations().erase(pointer);
  }
  free(Host(pointer));
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  FAKE_CALL(cuMemGetInfo_v2, free_bytes, total);
  *free_bytes = size_t{1} << 29;
  *total = size_t{1} << 30;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute,
                                           CUdeviceptr pointer) {
  FAKE_CALL(cuPointerGetAttribute, data, attribute, pointer);
  const CUdeviceptr start = AllocationOf(pointer);
  if (start == 0) return call.Return(CUDA_ERROR_INVALID_VALUE);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<CUmemorytype*>(data) = CU_MEMORYTYPE_DEVICE;
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(data) = start;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(data) = 0;
      break;
    default:
      return call.Return(CUDA_ERROR_INVALID_VALUE);
  }
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  FAKE_CALL(cuMemsetD8_v2, to, value, count);
  return call.Return(Set(to, value, 1, count, nullptr, true));
}

FAKE_EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                                     CUstream stream) {
  FAKE_CALL(cuMemsetD8Async, to, value, count, stream);
  return call.Return(Set(to, value, 1, count, stream, false));
}

FAKE_EXPORT CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
  FAKE_CALL(cuMemsetD32_v2, to, value, count);
  return call.Return(Set(to, value, 4, count, nullptr, true));
}

FAKE_EXPORT CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count,
                                      CUstream stream) {
  FAKE_CALL(cuMemsetD32Async, to, value, count, stream);
  return call.Return(Set(to, value, 4, count, stream, false));
}

FAKE_EXPORT CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  FAKE_CALL(cuMemcpyDtoH_v2, to, from, bytes);
  return call.Return(Copy(to, Host(from), bytes, 2, nullptr, true));
}

FAKE_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  FAKE_CALL(cuMemcpyHtoD_v2, to, from, bytes);
  return call.Return(Copy(Host(to), from, bytes, 1, nullptr, true));
}

FAKE_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                          CUstream stream) {
  FAKE_CALL(cuMemcpyDtoDAsync_v2, to, from, bytes, stream);
  return call.Return(Copy(Host(to), Host(from), bytes, 8, stream, false));
}

FAKE_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes,
                                          CUstream stream) {
  FAKE_CALL(cuMemcpyDtoHAsync_v2, to, from, bytes, stream);
  return call.Return(Copy(to, Host(from), bytes, 2, stream, false));
}

FAKE_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes,
                                          CUstream stream) {
  FAKE_CALL(cuMemcpyHtoDAsync_v2, to, from, bytes, stream);
  return call.Return(Copy(Host(to), from, bytes, 1, stream, false));
}

FAKE_EXPORT CUresult cuTensorMapEncodeTiled(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
    const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
    const cuuint32_t* element_strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  FAKE_CALL(cuTensorMapEncodeTiled, map, type, rank, address, dims, strides, box, element_strides,
            interleave, swizzle, promotion, fill);
  if (fake_cuda::CurrentContext() == nullptr) return call.Return(CUDA_ERROR_INVALID_CONTEXT);
  return call.Return(fake_cuda::EncodeTiledTensorMap(map, type, rank, address, dims, strides, box,
                                                     element_strides, interleave, swizzle, promotion,
                                                     fill));
}
