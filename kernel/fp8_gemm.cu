// Host side of the GEMM: checks, the plan, tensor maps, the launch, the C ABI.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>

#include "kernel/fp8_gemm.h"
#include "kernel/launch.h"
#include "kernel/quantize_kernel.cuh"
#include "kernel/sm90_fp8_gemm.cuh"
#include "kernel/tensor_map.h"

namespace hotproof::kernel {
namespace {

thread_local cudaError_t last_cuda_error = cudaSuccess;

hotproof_status cuda_failed(cudaError_t error) {
  last_cuda_error = error;
  cudaGetLastError();  // not sticky for the caller
  return HOTPROOF_CUDA_ERROR;
}

struct Device {
  int ordinal, sm_count, smem_per_sm, smem_per_block, smem_reserved;
};

hotproof_status current_device(Device* device) {
  int major = 0, minor = 0;
  cudaError_t error = cudaGetDevice(&device->ordinal);
  const auto read = [&](int* value, cudaDeviceAttr attribute) {
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(value, attribute, device->ordinal);
  };
  read(&major, cudaDevAttrComputeCapabilityMajor);
  read(&minor, cudaDevAttrComputeCapabilityMinor);
  read(&device->sm_count, cudaDevAttrMultiProcessorCount);
  read(&device->smem_per_sm, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  read(&device->smem_per_block, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  read(&device->smem_reserved, cudaDevAttrReservedSharedMemoryPerBlock);
  if (error != cudaSuccess) return cuda_failed(error);
  return major == 9 && minor == 0 ? HOTPROOF_OK : HOTPROOF_UNSUPPORTED_DEVICE;
}

int m_tile_for(int m) {
  for (int tile : {8, 16, 32, 64}) {
    if (m <= tile) return tile;
  }
  return 128;
}

// What a multiprocessor needs on its way to keep the memory busy. More makes queues longer, in
// which tokens wait too.
constexpr int kWindowBytes = 56 << 10;
// A bf16 A stays, quantised, where that leaves enough for weights.
constexpr int kMostStayingBytes = 80 << 10;
// What of the tokens is kept ready beside the weights: with many tokens they
// are half of all that a multiprocessor reads.
constexpr int token_bytes(const Decomposition& work, int m_tile) {
  if (!work.many) return 20 << 10;
  if (work.token_tiles > 1) return 96 << 10;
  return (m_tile <= 64 ? 48 : work.tile_groups <= kWgmmaGroups ? 128 : 96) << 10;
}
constexpr int kMaxStages = 32;  // of either ring

RingPlan rings_for(const Decomposition& work, int m_tile, bool quantise, bool ragged,
                   const Tuning& tuning) {
  RingPlan ring = {};
  const bool many = work.many;
  const bool small_tile = work.tile_groups <= (many ? kFullTileGroups : 6);
  const int most = many ? most_many_blocks(work.token_tiles > 1) : most_stage_blocks(m_tile);
  ring.stage_blocks = tuning.stage_blocks > 0 ? tuning.stage_blocks
                      : many                  ? (small_tile ? most : 1)
                      : small_tile            ? 4
                                              : 2;
  ring.stage_blocks = std::min(ring.stage_blocks, most);
  while (!work.cuts_fit(ring.stage_blocks)) ring.stage_blocks /= 2;
  if (ragged) ring.stage_blocks = 1;
  const int per_tile = ceil_div(work.longest_k(), ring.stage_blocks);
  const int token_stage = ring.stage_blocks * m_tile * kBlockK;
  ring.token_stages = tuning.token_stages > 0
                          ? tuning.token_stages
                          : std::min(token_bytes(work, m_tile) / token_stage, per_tile);
  ring.token_stages = std::clamp(ring.token_stages, kFewestTokenStages, kMaxStages);
  ring.tokens_stay = quantise && work.tiles_per_cta > 1 && per_tile <= kMaxStages &&
                     per_tile * token_stage <= kMostStayingBytes;
  if (ring.tokens_stay) ring.token_stages = per_tile;
  const int stage = work.tile_groups * ring.stage_blocks * kAtomBytes;
  ring.stages = tuning.stages > 0     ? tuning.stages
                : tuning.ring_kib > 0 ? tuning.ring_kib * 1024 / stage
                                      : kMaxStages;
  ring.stages = std::clamp(ring.stages, kFewestWeightStages, kMaxStages);
  const int window = tuning.window_kib > 0 ? tuning.window_kib << 10 : kWindowBytes;
  ring.window = std::max(kFewestWeightStages, ceil_div(window, stage));
  return ring;
}

hotproof_status plan_on(const Device& device, int m, int n, int k, bool quantise,
                        const Tuning& tuning, Plan* plan) {
  if (m < 1 || n < 1 || k < 1) return HOTPROOF_INVALID_ARGUMENT;
  if (m > (quantise ? 32 : 128) || n % 8 != 0 || k % 16 != 0 || n > (1 << 24) ||
      ceil_div(k, kBlockK) > 4096) {
    return HOTPROOF_UNSUPPORTED_SHAPE;
  }
  Decomposition& work = plan->work;
  work = decompose(m, n, k, device.sm_count);
  if (!work.many && (tuning.tile_groups > 0 || tuning.shared >= 0)) {
    const bool shared = work.segments > 1 && (tuning.shared >= 0 ? tuning.shared > 0 : work.shared);
    const int tile_groups = tuning.tile_groups > 0 ? tuning.tile_groups
                            : shared
                                ? std::min(kFullTileGroups, work.groups)
                                : even_tile_groups(work.groups, kFullTileGroups, device.sm_count);
    set_tiles(&work, std::min(tile_groups, kFullTileGroups), shared, device.sm_count);
  }
  if (work.many && tuning.tile_groups > 0 && work.segments == 1) {
    set_tiles(&work, std::min(tuning.tile_groups, kManyTileGroups), false, device.sm_count);
  }
  plan->m_tile = work.token_tiles > 1 ? kTokenTile : m_tile_for(m);

  const int budget = std::min(device.smem_per_sm - device.smem_reserved, device.smem_per_block);
  RingPlan& ring = plan->ring;
  ring = rings_for(work, plan->m_tile, quantise, k % kBlockK != 0, tuning);
  const auto smem = [&] { return SmemLayout(work, ring, plan->m_tile).total; };
  while (ring.stages > kFewestWeightStages && smem() > budget) --ring.stages;
  if (smem() > budget) return HOTPROOF_UNSUPPORTED_SHAPE;
  ring.window = std::min(ring.window, ring.stages);
  plan->smem_bytes = smem();
  plan->smem_bytes = std::max(plan->smem_bytes, device.smem_per_sm / 2);  // one CTA each
  plan->workspace_bytes = 0;
  // Of every pair of segments a tile's sums, as consumer warps hold them.
  const size_t pair_bytes = sizeof(float) * plan->m_tile * kFullTileGroups * kGroup;
  if (!work.shared) return HOTPROOF_OK;
  plan->workspace_bytes = kControlBytes + (work.many ? work.tiles * work.parts() * pair_bytes : 0);
  const size_t meetings = work.many ? 0 : work.tiles * (work.parts() - 1) * pair_bytes;
  return work.tiles > kMaxSharedTiles || meetings > kMeetingBytes ? HOTPROOF_UNSUPPORTED_SHAPE
                                                                  : HOTPROOF_OK;
}

template <bool kQuantise>
KernelFunction kernel_for(int m_tile, Mutation mutation) {
  constexpr Mutation kNone = Mutation::kNone;
#ifdef HOTPROOF_MUTATIONS
  if (mutation != kNone && m_tile == 8 && kQuantise) {
    if (mutation == Mutation::kReadOnly) {
      return sm90_fp8_gemm_1x128_128x128<8, true, Mutation::kReadOnly>;
    }
    if (mutation == Mutation::kTimed) {
      return sm90_fp8_gemm_1x128_128x128<8, true, Mutation::kTimed>;
    }
  }
  if (mutation != kNone && m_tile == 8 && !kQuantise) {
    switch (mutation) {
      case Mutation::kNone:
        break;
      case Mutation::kReadOnly:
        return sm90_fp8_gemm_1x128_128x128<8, false, Mutation::kReadOnly>;
      case Mutation::kTimed:
        return sm90_fp8_gemm_1x128_128x128<8, false, Mutation::kTimed>;
      case Mutation::kDropKBlock:
        return sm90_fp8_gemm_1x128_128x128<8, false, Mutation::kDropKBlock>;
      case Mutation::kSwapScaleAxes:
        return sm90_fp8_gemm_1x128_128x128<8, false, Mutation::kSwapScaleAxes>;
      case Mutation::kOffByOneTile:
        return sm90_fp8_gemm_1x128_128x128<8, false, Mutation::kOffByOneTile>;
      case Mutation::kStaleWorkspace:
        return sm90_fp8_gemm_1x128_128x128<8, false, Mutation::kStaleWorkspace>;
      case Mutation::kScaleTwice:
        return sm90_fp8_gemm_1x128_128x128<8, false, Mutation::kScaleTwice>;
    }
  }
#endif
  if (mutation != kNone) return nullptr;
  switch (m_tile) {
    case 8:
      return sm90_fp8_gemm_1x128_128x128<8, kQuantise, kNone>;
    case 16:
      return sm90_fp8_gemm_1x128_128x128<16, kQuantise, kNone>;
    case 32:
      return sm90_fp8_gemm_1x128_128x128<32, kQuantise, kNone>;
    default:
      break;
  }
  return nullptr;
}

bool aligned(const void* p, uintptr_t bytes) { return reinterpret_cast<uintptr_t>(p) % bytes == 0; }

bool valid(const hotproof_fp8_gemm_args& args, bool quantise) {
  const int64_t a_unit = quantise ? 8 : 16;  // 16 bytes
  return args.a && args.b && args.b_scale && args.d && (quantise || args.a_scale) &&
         aligned(args.a, 16) && aligned(args.b, 16) && aligned(args.d, 4) &&
         aligned(args.b_scale, 4) && aligned(args.a_scale, 4) && args.lda >= args.k &&
         args.lda % a_unit == 0 && args.ldb >= args.k && args.ldb % 16 == 0 && args.ldd >= args.n &&
         args.ldd % 2 == 0 && args.b_scale_stride_n >= 0 && args.b_scale_stride_k >= 0 &&
         (quantise || (args.a_scale_stride_m >= 0 && args.a_scale_stride_k >= 0)) &&
         args.lda < (int64_t{1} << 36) && args.ldb < (int64_t{1} << 36);
}

#ifdef HOTPROOF_COUNT_LAUNCHES
__device__ int launch_count;
#endif

// Attribute changes outlive the call, so each kernel needs them once per device.
cudaError_t allow_shared_memory(KernelFunction kernel, int bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

}  // namespace

hotproof_status make_plan(int m, int n, int k, bool quantise, const Tuning& tuning, Plan* plan) {
  Device device;
  const hotproof_status status = current_device(&device);
  return status == HOTPROOF_OK ? plan_on(device, m, n, k, quantise, tuning, plan) : status;
}

hotproof_status launch(const hotproof_fp8_gemm_args& args, void* stream, bool quantise,
                       const Tuning& tuning, Mutation mutation) {
  Plan plan;
  const hotproof_status status = make_plan(args.m, args.n, args.k, quantise, tuning, &plan);
  if (status != HOTPROOF_OK) return status;
  if (!valid(args, quantise)) return HOTPROOF_INVALID_ARGUMENT;
  if (plan.workspace_bytes > 0) {
    if (args.workspace == nullptr || args.workspace_bytes < plan.workspace_bytes) {
      return HOTPROOF_WORKSPACE_TOO_SMALL;
    }
    if (!aligned(args.workspace, 256)) return HOTPROOF_INVALID_ARGUMENT;
  }

  GemmParams p = {};
  p.m = args.m;
  p.n = args.n;
  p.k = args.k;
  p.work = plan.work;
  for (int c = 0; c <= plan.work.segments; ++c) p.cuts[c] = plan.work.cut(c);
  p.ring = plan.ring;
  p.layout = SmemLayout(plan.work, plan.ring, plan.m_tile);
  p.timeline = tuning.timeline;
  if (tuning.never_wait) p.flags |= kNeverWait;
  const bool ragged = args.k % kBlockK != 0;
  p.first = FirstLoads(p.work, p.ring, p.layout, ragged);
  if (args.a_scale_stride_m == 1 && args.a_scale_stride_k % 4 == 0 && args.m % 4 == 0 &&
      aligned(args.a_scale, 16)) {
    p.flags |= kBulkScales;
  }
  if (args.flags & HOTPROOF_WEIGHTS_MAY_CHANGE) p.flags |= kWaitBeforeWeights;
  if (args.flags & HOTPROOF_POWER_OF_TWO_SCALES) p.flags |= kPowerOfTwoScales;
  p.a_scale = args.a_scale;
  p.a_scale_stride_m = args.a_scale_stride_m;
  p.a_scale_stride_k = args.a_scale_stride_k;
  p.b_scale = args.b_scale;
  p.b_scale_stride_n = args.b_scale_stride_n;
  p.b_scale_stride_k = args.b_scale_stride_k;
  p.a = static_cast<const __nv_bfloat16*>(args.a);
  p.lda = args.lda;
  p.d = static_cast<__nv_bfloat16*>(args.d);
  p.ldd = args.ldd;
  uint8_t* workspace = static_cast<uint8_t*>(args.workspace);
  p.tickets = reinterpret_cast<int*>(workspace);
  p.slots = reinterpret_cast<uint4*>(workspace + kTicketBytes);
  p.partials = reinterpret_cast<float*>(workspace + kControlBytes);
#ifdef HOTPROOF_COUNT_LAUNCHES
  void* counter = nullptr;
  if (cudaGetSymbolAddress(&counter, launch_count) == cudaSuccess) {
    p.launch_counter = static_cast<int*>(counter);
  }
#endif
  if (!tensor_maps_available()) return cuda_failed(cudaErrorNotSupported);
  const int promotion = tuning.l2_promotion_bytes >= 0 ? tuning.l2_promotion_bytes : 0;
  const WeightMatrix weights = {
      args.b, args.k,   args.n, args.ldb, plan.ring.stage_blocks, plan.work.tile_groups,
      ragged, promotion};
  const TokenMatrix tokens = {args.a,      args.k, args.m, args.lda, plan.ring.stage_blocks,
                              plan.m_tile, ragged, 256};
  if (!encode(weights, &p.b_map) || (!quantise && !encode(tokens, &p.a_map))) {
    return HOTPROOF_INVALID_ARGUMENT;
  }

  const KernelFunction kernel = plan.work.many && mutation == Mutation::kNone
                                    ? many_tokens_kernel(plan.m_tile)
                                : quantise ? kernel_for<true>(plan.m_tile, mutation)
                                           : kernel_for<false>(plan.m_tile, mutation);
  if (kernel == nullptr) return HOTPROOF_UNSUPPORTED_SHAPE;
  cudaError_t error = allow_shared_memory(kernel, plan.smem_bytes);
  if (error != cudaSuccess) return cuda_failed(error);

  cudaLaunchAttribute attribute = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(plan.work.columns(), plan.work.parts(), plan.work.token_tiles);
  config.blockDim = dim3(kBlockThreads);
  config.dynamicSmemBytes = plan.smem_bytes;
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &attribute;
  if (!(args.flags & HOTPROOF_NO_PROGRAMMATIC_LAUNCH)) {
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.numAttrs = 1;
  }
  error = cudaLaunchKernelEx(&config, kernel, p);
  return error == cudaSuccess ? HOTPROOF_OK : cuda_failed(error);
}

int64_t take_launch_count() {
#ifdef HOTPROOF_COUNT_LAUNCHES
  int count = 0;
  const int zero = 0;
  if (cudaDeviceSynchronize() != cudaSuccess ||
      cudaMemcpyFromSymbol(&count, launch_count, sizeof(count)) != cudaSuccess ||
      cudaMemcpyToSymbol(launch_count, &zero, sizeof(zero)) != cudaSuccess) {
    return -1;
  }
  return count;
#else
  return -1;
#endif
}

}  // namespace hotproof::kernel

using namespace hotproof::kernel;

extern "C" {

hotproof_status hotproof_fp8_gemm_workspace(int32_t m, int32_t n, int32_t k, size_t* bytes,
                                            size_t* control_bytes) {
  if (bytes == nullptr) return HOTPROOF_INVALID_ARGUMENT;
  Plan plan;
  const hotproof_status status = make_plan(m, n, k, false, {}, &plan);
  if (status != HOTPROOF_OK) return status;
  size_t need = plan.workspace_bytes;  // of fewer rows too
  if (make_plan(std::min(m, kMostSharedTokens), n, k, false, {}, &plan) == HOTPROOF_OK) {
    need = std::max(need, plan.workspace_bytes);
  }
  *bytes = need;
  if (control_bytes != nullptr) *control_bytes = need > 0 ? kControlBytes : 0;
  return HOTPROOF_OK;
}

hotproof_status hotproof_fp8_gemm_init_workspace(void* workspace, size_t bytes, void* stream) {
  if (bytes == 0) return HOTPROOF_OK;
  if (workspace == nullptr || bytes < kControlBytes) return HOTPROOF_INVALID_ARGUMENT;
  const cudaError_t error =
      cudaMemsetAsync(workspace, 0, kControlBytes, static_cast<cudaStream_t>(stream));
  return error == cudaSuccess ? HOTPROOF_OK : cuda_failed(error);
}

hotproof_status hotproof_fp8_gemm(const hotproof_fp8_gemm_args* args, void* stream) {
  if (args == nullptr) return HOTPROOF_INVALID_ARGUMENT;
  return launch(*args, stream, false, {}, Mutation::kNone);
}

hotproof_status hotproof_fp8_gemm_bf16(const hotproof_fp8_gemm_args* args, void* stream) {
  if (args == nullptr) return HOTPROOF_INVALID_ARGUMENT;
  return launch(*args, stream, true, {}, Mutation::kNone);
}

hotproof_status hotproof_quantize_1x128(int32_t m, int32_t k, const void* x, int64_t ldx, void* q,
                                        int64_t ldq, float* scale, int64_t stride_m,
                                        int64_t stride_k, uint32_t flags, void* stream) {
  if (m < 1 || k < 1 || k % 16 != 0 || x == nullptr || q == nullptr || scale == nullptr ||
      !aligned(x, 16) || !aligned(q, 16) || ldx < k || ldx % 8 != 0 || ldq < k || ldq % 16 != 0 ||
      stride_m < 0 || stride_k < 0) {
    return HOTPROOF_INVALID_ARGUMENT;
  }
  Device device;
  const hotproof_status status = current_device(&device);
  if (status != HOTPROOF_OK) return status;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  const int64_t blocks = (static_cast<int64_t>(m) * ceil_div(k, kBlockK) + 7) / 8;
  config.gridDim = dim3(static_cast<unsigned>(std::min<int64_t>(blocks, 4 * device.sm_count)));
  config.blockDim = dim3(128);
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &attribute;
  config.numAttrs = flags & HOTPROOF_NO_PROGRAMMATIC_LAUNCH ? 0 : 1;
  const cudaError_t error =
      cudaLaunchKernelEx(&config, quantize_1x128, m, k, static_cast<const __nv_bfloat16*>(x), ldx,
                         static_cast<uint8_t*>(q), ldq, scale, stride_m, stride_k,
                         (flags & HOTPROOF_POWER_OF_TWO_SCALES) != 0);
  return error == cudaSuccess ? HOTPROOF_OK : cuda_failed(error);
}

const char* hotproof_status_string(hotproof_status status) {
  switch (status) {
    case HOTPROOF_OK:
      return "ok";
    case HOTPROOF_INVALID_ARGUMENT:
      return "a pointer, size, stride or alignment is invalid";
    case HOTPROOF_UNSUPPORTED_SHAPE:
      return "the shape is not supported";
    case HOTPROOF_UNSUPPORTED_DEVICE:
      return "this GPU is not supported: the kernel needs compute capability 9.0 (H100, H200, "
             "GH200)";
    case HOTPROOF_WORKSPACE_TOO_SMALL:
      return "the workspace is missing or too small";
    case HOTPROOF_CUDA_ERROR:
      return "a CUDA call failed; see hotproof_last_cuda_error()";
  }
  return "unknown status";
}

int hotproof_last_cuda_error(void) { return static_cast<int>(last_cuda_error); }

}  // extern "C"
