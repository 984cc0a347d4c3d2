#include "cupti_tracer/core/tensor_map_calls.h"

namespace hotproof::tracer {
namespace {

thread_local uint32_t replaced_tensor_map = 0;

enum Kind : uint32_t { kTiled = 0, kIm2col = 1, kIm2colWide = 2 };  // TensorMap.kind

// What the parameters of all three encoders have in common.
template <typename Params>
trace::TensorMapEntry Describe(const Params& p, Kind kind) {
  static_assert(sizeof(cuuint64_t) == sizeof(uint64_t));
  trace::TensorMapEntry entry;
  entry.data_type = p.tensorDataType;
  entry.global_dims = {p.globalDim, p.tensorRank};
  entry.global_strides = {p.globalStrides, p.tensorRank > 0 ? p.tensorRank - 1 : 0};
  entry.element_strides = {p.elementStrides, p.tensorRank};
  entry.interleave = p.interleave;
  entry.swizzle = p.swizzle;
  entry.kind = kind;
  return entry;
}

}  // namespace

void OnTensorMapCall(Sites& sites, CUpti_CallbackId id, const void* params) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeTiled: {
      const auto& p = *static_cast<const cuTensorMapEncodeTiled_params*>(params);
      trace::TensorMapEntry entry = Describe(p, kTiled);
      entry.box_dims = {p.boxDim, p.tensorRank};
      return sites.RememberTensorMap(p.tensorMap, entry);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeIm2col: {
      const auto& p = *static_cast<const cuTensorMapEncodeIm2col_params*>(params);
      return sites.RememberTensorMap(p.tensorMap, Describe(p, kIm2col));
    }
    case CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeIm2colWide: {
      const auto& p = *static_cast<const cuTensorMapEncodeIm2colWide_params*>(params);
      return sites.RememberTensorMap(p.tensorMap, Describe(p, kIm2colWide));
    }
    case CUPTI_DRIVER_TRACE_CBID_cuTensorMapReplaceAddress:
      return sites.RememberReplacedTensorMap(
          static_cast<const cuTensorMapReplaceAddress_params*>(params)->tensorMap,
          replaced_tensor_map);
    default:
      return;
  }
}

void OnTensorMapReplaceEntered(const Sites& sites, const void* params) {
  const void* map = static_cast<const cuTensorMapReplaceAddress_params*>(params)->tensorMap;
  replaced_tensor_map = map == nullptr ? 0 : sites.FindTensorMap(map);
}

}  // namespace hotproof::tracer
