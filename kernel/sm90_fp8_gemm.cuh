// The FP8 block-scaled GEMM kernel. Read top to bottom: what a CTA keeps in shared memory, the warp that
// loads, the warps that multiply, how shared tiles are summed, the kernel. Host code is in fp8_gemm.cu.
//
// Operands are swapped: 64 weight rows are wgmma's M, up to 128 tokens its N, so a tile of D is 128
// weight rows x kMTile tokens and no tensor work is wasted on padding tokens. A CTA:
//   warps 0-7   two consumer warpgroups, each multiplies one 64-row half of every weight unit
//   warp 8      one thread feeds weights by TMA into a ring of stages; it does nothing else, because at the
//               memory roof it has less than half a microsecond for a unit
//   warps 9-11  activations and scales into the same stages: up to 32 tokens through registers, quantising
//               bf16 on the way if asked to; more tokens by TMA (warp 9 alone)
#ifndef HOTPROOF_KERNEL_SM90_FP8_GEMM_CUH_
#define HOTPROOF_KERNEL_SM90_FP8_GEMM_CUH_

#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>

#include "kernel/decomposition.h"
#include "kernel/launch.h"
#include "kernel/ptx.cuh"
#include "kernel/quantize.cuh"

namespace hotproof::kernel {

struct GemmParams {
  int m, n, k;  // first: tracers read the shape from the argument bytes
  Decomposition work;
  int stages;
  uint32_t flags;     // kWaitBeforeWeights, kPowerOfTwoScales
  const float* a_scale;
  int64_t a_scale_stride_m, a_scale_stride_k;
  const float* b_scale;
  int64_t b_scale_stride_n, b_scale_stride_k;
  const void* a;  // e4m3, or bf16 with kQuantise; a_map instead when tokens come by TMA
  int64_t lda;
  __nv_bfloat16* d;
  int64_t ldd;
  int* tickets;      // [tile][8 warps]: segments that have arrived; zero between launches
  float* partials;   // [2 * ctas][8 warps][kMTile / 8][32 lanes][4]
  int* launch_counter;  // null, or counts launches of the kernel (test builds)
  Timeline* timeline;   // null, or one per CTA (test builds)
  CUtensorMap a_map;  // aligned by its type
  CUtensorMap b_map;
};
inline constexpr uint32_t kWaitBeforeWeights = 1;
inline constexpr uint32_t kPowerOfTwoScales = 2;
inline constexpr uint32_t kNeverWait = 4;  // test builds: wrong, but shows what waiting costs

inline constexpr int kConsumerWarps = 8;
// Three token warps take turns: with fewer stages than that one could be two passes of the ring ahead of a
// stage, and a barrier's parity tells only one.
inline constexpr int kMinStages = 3;
inline constexpr int kUnitBytes = kTileN * kBlockK;

// A's way into shared memory: through registers, or by TMA when there is much of it.
HOTPROOF_HOST_DEVICE constexpr bool tokens_by_tma(int m_tile) { return m_tile > 32; }
HOTPROOF_HOST_DEVICE constexpr int token_warps(int m_tile) { return tokens_by_tma(m_tile) ? 1 : 3; }
HOTPROOF_HOST_DEVICE constexpr int block_threads(int m_tile) { return 32 * (kConsumerWarps + 1 + token_warps(m_tile)); }
// Arrivals that complete a stage: the weights' TMA and one token warp; with TMA for tokens too, their
// TMA and 32 lanes' scale copies.
HOTPROOF_HOST_DEVICE constexpr int full_arrivals(int m_tile) { return tokens_by_tma(m_tile) ? 1 + 1 + 32 : 1 + 1; }
// Byte offsets in dynamic shared memory.
struct SmemLayout {
  int a, scales, barriers, total;
  HOTPROOF_HOST_DEVICE constexpr SmemLayout(int m_tile, int stages)
      : a(stages * kUnitBytes),
        scales(a + stages * m_tile * kBlockK),
        barriers(scales + stages * (m_tile + 4) * 4),
        total(barriers + 2 * stages * 8) {}
};

// The ring of stages. Stage s holds one unit of weights, the same K block of A, A's scales [kMTile] and
// B's scale. full[s] completes when all of it has landed, empty[s] when all consumers have read it.
template <int kMTile>
struct Ring {
  uint32_t base;
  int stages;
  SmemLayout layout;

  __device__ uint32_t weights(int s) const { return base + s * kUnitBytes; }
  __device__ uint32_t a(int s) const { return base + layout.a + s * kMTile * kBlockK; }
  __device__ uint32_t scales(int s) const { return base + layout.scales + s * (kMTile + 4) * 4; }
  __device__ uint32_t full(int s) const { return base + layout.barriers + s * 8; }
  __device__ uint32_t empty(int s) const { return base + layout.barriers + (stages + s) * 8; }
};

struct Cursor {
  int stage = 0;
  uint32_t phase = 0;
  __device__ void advance(int stages, int by = 1) {
    for (stage += by; stage >= stages; stage -= stages) phase ^= 1;
  }
};

// The timed variant notes when things happened.
enum Moment { kStart, kPrimed, kDependencyMet, kFirstUnit, kLastIssue, kLastUnit, kEnd };
template <Mutation kMutation>
__device__ void note(const GemmParams& p, Moment moment) {
  if constexpr (kMutation == Mutation::kTimed) {
    p.timeline[blockIdx.x].ns[moment] = ptx::global_ns();
    p.timeline[blockIdx.x].cycles[moment] = clock64();
    if (moment == kStart) p.timeline[blockIdx.x].ns[7] = ptx::multiprocessor();
  }
}
__device__ inline void wait_for_previous_kernel(const GemmParams& p) {
#ifdef HOTPROOF_MUTATIONS
  if (p.flags & kNeverWait) return;
#endif
  (void)p;
  ptx::grid_dependency_wait();
}

// --- loading ------------------------------------------------------------------------------------------

// The next unit's coordinates in B, in the order of the CTA's range.
struct UnitWalk {
  int k0, n0, k_end;
  __device__ UnitWalk(const Decomposition& work, int unit)
      : k0(unit % work.k_blocks * kBlockK),
        n0(unit / work.k_blocks * kTileN),
        k_end(work.k_blocks * kBlockK) {}
  __device__ void next() {
    k0 += kBlockK;
    if (k0 == k_end) k0 = 0, n0 += kTileN;
  }
};

template <int kMTile>
__device__ void load_weights(const GemmParams& p, const Ring<kMTile>& ring, int stage,
                             const UnitWalk& at) {
  ptx::mbarrier_arrive_expect_tx(ring.full(stage), kUnitBytes);
  ptx::tma_load_2d(ring.weights(stage), &p.b_map, at.k0, at.n0, ring.full(stage), ptx::kEvictFirst);
}

// The weight thread's whole life, after it has set up the barriers. Weights don't depend on the previous
// kernel, so nothing waits for it here.
template <int kMTile, Mutation kMutation>
__device__ void feed_weights(const GemmParams& p, const Ring<kMTile>& ring, int begin, int end) {
  UnitWalk at(p.work, begin);
  int left = end - begin;
  uint32_t phase = 1;  // the first pass over the ring finds every stage empty
  while (true) {
    for (int stage = 0; stage < ring.stages; ++stage) {
      ptx::mbarrier_wait(ring.empty(stage), phase);
      load_weights(p, ring, stage, at);
      if (--left == 0) {
        note<kMutation>(p, kLastIssue);
        return;
      }
      at.next();
    }
    if (phase == 1) note<kMutation>(p, kPrimed);
    phase ^= 1;
  }
}

template <Mutation kMutation>
__device__ const float* b_scale_address(const GemmParams& p, int tile, int k_block) {
  if constexpr (kMutation == Mutation::kSwapScaleAxes) {
    return p.b_scale + (k_block % p.work.tiles) * p.b_scale_stride_n +
           (tile % p.work.k_blocks) * p.b_scale_stride_k;
  }
  return p.b_scale + tile * p.b_scale_stride_n + k_block * p.b_scale_stride_k;
}

// B's scales are few bytes, but once 12 MB of weights are queued at the memory they would wait behind them:
// ask for them first.
template <Mutation kMutation>
__device__ void prefetch_b_scales(const GemmParams& p, int begin, int end, int lane) {
  for (int unit = begin + lane; unit < end; unit += 32) {
    const int tile = unit / p.work.k_blocks;
    ptx::prefetch_l2(b_scale_address<kMutation>(p, tile, unit - tile * p.work.k_blocks));
  }
}

// Where bytes [16 * chunk, 16 * chunk + 16) of a row of A lie in a stage, with the 128-byte swizzle.
__device__ inline uint32_t swizzled(uint32_t a, int row, int chunk) {
  return a + row * kBlockK + (chunk ^ (row % 8)) * 16;
}

// 8 rows of A in registers: lane l has row l / 4 and of its 128 elements every fourth chunk. A chunk is
// 8 bf16 (quantised on the way) or 16 e4m3: 16 bytes.
template <bool kQuantise>
struct EightRows {
  static constexpr int kChunks = kQuantise ? 4 : 2;
  uint4 chunk[kChunks];

  __device__ void load(const GemmParams& p, int row, int k0, int lane) {
    constexpr int kElements = kQuantise ? 8 : 16;
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      const int k = k0 + (lane % 4 + 4 * i) * kElements;
      chunk[i] = make_uint4(0, 0, 0, 0);
      if (row < p.m && k < p.k) {
        chunk[i] = *reinterpret_cast<const uint4*>(static_cast<const uint8_t*>(p.a) +
                                                   (row * p.lda + k) * (kQuantise ? 2 : 1));
      }
    }
  }

  // Writes the stage's rows; with kQuantise also their scales.
  __device__ void store(const GemmParams& p, uint32_t a, uint32_t scales, int row, int lane) const {
    if constexpr (kQuantise) {
      float amax = 0;
#pragma unroll
      for (int i = 0; i < kChunks; ++i) amax = fmaxf(amax, amax_8(chunk[i]));
      amax = fmaxf(amax, __shfl_xor_sync(~0u, amax, 1));
      amax = fmaxf(amax, __shfl_xor_sync(~0u, amax, 2));
      const float scale = group_scale(amax, p.flags & kPowerOfTwoScales);
      const float inverse = 1.0f / scale;
#pragma unroll
      for (int i = 0; i < kChunks; ++i) {
        const int eight = lane % 4 + 4 * i;
        const uint2 q = quantise_8(chunk[i], inverse);
        ptx::store_shared_v2(swizzled(a, row, eight / 2) + eight % 2 * 8, q.x, q.y);
      }
      if (lane % 4 == 0) ptx::store_shared(scales + row * 4, row < p.m ? scale : 0.0f);
    } else {
#pragma unroll
      for (int i = 0; i < kChunks; ++i) {
        ptx::store_shared_v4(swizzled(a, row, lane % 4 + 4 * i), chunk[i]);
      }
    }
  }
};

// Token warp w of three takes every third unit.
template <int kMTile, bool kQuantise, Mutation kMutation>
__device__ void feed_tokens(const GemmParams& p, const Ring<kMTile>& ring, int begin, int end, int w,
                            int lane) {
  wait_for_previous_kernel(p);
  if (w == 0 && lane == 0) note<kMutation>(p, kDependencyMet);
  constexpr int kWarps = token_warps(kMTile);
  constexpr int kGroups = kMTile / 8;                 // of eight rows
  constexpr int kHeld = kGroups < 2 ? kGroups : 2;    // groups whose loads are in flight together
  Cursor at;
  at.advance(ring.stages, w);
  for (int unit = begin + w; unit < end; unit += kWarps) {
    const int tile = unit / p.work.k_blocks;
    const int k_block = unit - tile * p.work.k_blocks;
    const uint32_t a = ring.a(at.stage), scales = ring.scales(at.stage);
    float a_scale = 0;
    if (!kQuantise && lane < p.m) {
      a_scale = p.a_scale[lane * p.a_scale_stride_m + k_block * p.a_scale_stride_k];
    }
    const float b_scale = *b_scale_address<kMutation>(p, tile, k_block);
#pragma unroll
    for (int group = 0; group < kGroups; group += kHeld) {
      EightRows<kQuantise> rows[kHeld];
#pragma unroll
      for (int h = 0; h < kHeld; ++h) {
        rows[h].load(p, (group + h) * 8 + lane / 4, k_block * kBlockK, lane);
      }
      if (group == 0) ptx::mbarrier_wait(ring.empty(at.stage), at.phase ^ 1);
#pragma unroll
      for (int h = 0; h < kHeld; ++h) rows[h].store(p, a, scales, (group + h) * 8 + lane / 4, lane);
    }
    if (!kQuantise && lane < kMTile) ptx::store_shared(scales + lane * 4, a_scale);
    if (lane == 0) ptx::store_shared(scales + kMTile * 4, b_scale);
    ptx::fence_proxy_async();  // wgmma reads what ordinary stores wrote
    __syncwarp();
    if (lane == 0) ptx::mbarrier_arrive(ring.full(at.stage));
    at.advance(ring.stages, kWarps);
  }
}

// The same for many tokens: TMA for A, 4-byte asynchronous copies for the scales.
template <int kMTile, Mutation kMutation>
__device__ void feed_tokens_by_tma(const GemmParams& p, const Ring<kMTile>& ring, int begin, int end,
                                   int lane) {
  wait_for_previous_kernel(p);
  UnitWalk at(p.work, begin);
  Cursor to;
  for (int unit = begin; unit < end; ++unit, at.next()) {
    const uint32_t full = ring.full(to.stage), scales = ring.scales(to.stage);
    ptx::mbarrier_wait(ring.empty(to.stage), to.phase ^ 1);
    if (lane == 0) {
      ptx::mbarrier_arrive_expect_tx(full, kMTile * kBlockK);
      ptx::tma_load_2d(ring.a(to.stage), &p.a_map, at.k0, 0, full, ptx::kEvictLast);
      ptx::cp_async_4(scales + kMTile * 4,
                      b_scale_address<kMutation>(p, at.n0 / kTileN, at.k0 / kBlockK), true);
    }
#pragma unroll
    for (int i = 0; i < kMTile / 32; ++i) {
      const int m = lane + 32 * i;
      const int64_t offset = m * p.a_scale_stride_m + at.k0 / kBlockK * p.a_scale_stride_k;
      ptx::cp_async_4(scales + m * 4, p.a_scale + (m < p.m ? offset : 0), m < p.m);
    }
    ptx::mbarrier_arrive_after_cp_async(full);
    to.advance(ring.stages);
  }
}

// --- storing and summing --------------------------------------------------------------------------------

// A warp's 16 weight rows x kMTile tokens -> D. acc is laid out as wgmma leaves it.
template <int kMTile, Mutation kMutation>
__device__ void store_tile(const GemmParams& p, int tile, int warp, int lane,
                           const float (&acc)[kMTile / 2]) {
  if constexpr (kMutation == Mutation::kOffByOneTile) tile = (tile + 1) % p.work.tiles;
  const int n0 = tile * kTileN + warp * 16;
#pragma unroll
  for (int j = 0; j < kMTile / 8; ++j) {
    const int m = 8 * j + lane / 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(acc[4 * j + 2 * h], acc[4 * j + 2 * h + 1]);
      const uint32_t bits = ptx::transpose_8x8(reinterpret_cast<const uint32_t&>(pair));
      if (m < p.m && n0 + 8 * h < p.n) {
        *reinterpret_cast<uint32_t*>(p.d + m * p.ldd + n0 + 8 * h + 2 * (lane % 4)) = bits;
      }
    }
  }
}

// The tile's segments meet in the workspace: each warp writes its part and takes a ticket; the warp that
// finds all others arrived adds all parts in K order, whatever the order of arrival, and stores.
template <int kMTile, Mutation kMutation>
__device__ void reduce_in_workspace(const GemmParams& p, int cta, const Segment& segment, int warp,
                                    int lane, float (&acc)[kMTile / 2]) {
  // Few tokens: the last warp adds its own part from registers. Many: registers are short, it reads its
  // own part back.
  constexpr bool kKeepOwn = kMTile <= 32 && kMutation != Mutation::kStaleWorkspace;
  const auto part = [&](int slot, int j) {
    return reinterpret_cast<float4*>(p.partials) +
           ((static_cast<int64_t>(slot) * kConsumerWarps + warp) * (kMTile / 8) + j) * 32 + lane;
  };
  const int first = p.work.first_cta(segment.tile);
  const int last = p.work.last_cta(segment.tile);
  int* ticket = p.tickets + segment.tile * kConsumerWarps + warp;
  int arrived = 0;
  // A tile's first segment is its CTA's last work: the others may well be there already, and then its own
  // part need not go through memory.
  if (kKeepOwn && segment.k_begin == 0) {
    if (lane == 0) arrived = ptx::load_acquire(ticket);
    arrived = __shfl_sync(~0u, arrived, 0);
  }
  if (arrived < last - first) {
    const int own_slot = partial_slot(cta, segment.k_begin);
#pragma unroll
    for (int j = 0; j < kMTile / 8 && kMutation != Mutation::kStaleWorkspace; ++j) {
      __stcg(part(own_slot, j),
             make_float4(acc[4 * j], acc[4 * j + 1], acc[4 * j + 2], acc[4 * j + 3]));
    }
    // The warp barrier and the atomic's release order all lanes' parts before the ticket; its acquire, and
    // the shuffle, order the others' parts before the loads below.
    __syncwarp();
    if (lane == 0) arrived = ptx::atomic_add_acq_rel(ticket, 1);
    arrived = __shfl_sync(~0u, arrived, 0);
    if (arrived < last - first) return;
  }
  float own[kKeepOwn ? kMTile / 2 : 1];
  if constexpr (kKeepOwn) {
#pragma unroll
    for (int i = 0; i < kMTile / 2; ++i) own[i] = acc[i];
  }
  for (int from = first; from <= last; ++from) {
    const int slot = partial_slot(from, from == first ? 0 : 1);
#pragma unroll
    for (int j = 0; j < kMTile / 8; ++j) {
      float4 other;
      if (kKeepOwn && from == cta) {
        if constexpr (kKeepOwn) {
          other = make_float4(own[4 * j], own[4 * j + 1], own[4 * j + 2], own[4 * j + 3]);
        }
      } else {
        other = __ldcg(part(slot, j));
      }
      acc[4 * j] = from == first ? other.x : acc[4 * j] + other.x;
      acc[4 * j + 1] = from == first ? other.y : acc[4 * j + 1] + other.y;
      acc[4 * j + 2] = from == first ? other.z : acc[4 * j + 2] + other.z;
      acc[4 * j + 3] = from == first ? other.w : acc[4 * j + 3] + other.w;
    }
  }
  if (lane == 0) *ticket = 0;
  store_tile<kMTile, kMutation>(p, segment.tile, warp, lane, acc);
}

// --- multiplying ------------------------------------------------------------------------------------------

template <int kMTile, Mutation kMutation>
__device__ void consume(const GemmParams& p, const Ring<kMTile>& ring, int cta, int begin, int end,
                        int warp, int lane) {
  const int half = warp / 4;  // which 64 rows of the unit
  Cursor at;
  int unit = begin;
  while (unit < end) {
    const Segment segment = p.work.segment_at(cta, unit);
    float acc[kMTile / 2] = {};
    for (int k_block = segment.k_begin; k_block < segment.k_end; ++k_block) {
      ptx::mbarrier_wait(ring.full(at.stage), at.phase);
      if constexpr (kMutation == Mutation::kTimed) {
        const int now = unit + k_block - segment.k_begin;
        if (threadIdx.x == 0 && now == begin) note<kMutation>(p, kFirstUnit);
        if (threadIdx.x == 0 && now == end - 1) note<kMutation>(p, kLastUnit);
      }
      if constexpr (kMutation != Mutation::kReadOnly) {
        // Hopper's fp8 wgmma keeps about 14 bits of a sum: each block of 128 is summed apart and then
        // added in fp32, together with its scales.
        float part[kMTile / 2];
        const uint64_t weights = ptx::wgmma_descriptor(ring.weights(at.stage) + half * kUnitBytes / 2);
        const uint64_t tokens = ptx::wgmma_descriptor(ring.a(at.stage));
        ptx::wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; ++k) ptx::wgmma_m64k32<kMTile>(part, weights + 2 * k, tokens + 2 * k, k);
        ptx::wgmma_commit();
        const uint32_t scales = ring.scales(at.stage);
        float b_scale;
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(b_scale) : "r"(scales + kMTile * 4) : "memory");
        if constexpr (kMutation == Mutation::kScaleTwice) {
          if (segment.tile == p.work.tiles - 1 && k_block == 1) b_scale *= 2;
        }
        if constexpr (kMutation == Mutation::kDropKBlock) {
          if (segment.tile == 0 && k_block == 1) b_scale = 0;
        }
        ptx::wgmma_wait_all();
#pragma unroll
        for (int j = 0; j < kMTile / 8; ++j) {
          float s0, s1;
          asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                       : "=f"(s0), "=f"(s1)
                       : "r"(scales + (8 * j + 2 * (lane % 4)) * 4)
                       : "memory");
          s0 *= b_scale;
          s1 *= b_scale;
          acc[4 * j] = fmaf(part[4 * j], s0, acc[4 * j]);
          acc[4 * j + 1] = fmaf(part[4 * j + 1], s1, acc[4 * j + 1]);
          acc[4 * j + 2] = fmaf(part[4 * j + 2], s0, acc[4 * j + 2]);
          acc[4 * j + 3] = fmaf(part[4 * j + 3], s1, acc[4 * j + 3]);
        }
      }
      __syncwarp();
      if (lane == 0) ptx::mbarrier_arrive(ring.empty(at.stage));
      at.advance(ring.stages);
    }
    unit += segment.k_end - segment.k_begin;
    if constexpr (kMutation == Mutation::kReadOnly) continue;
    if (segment.k_end - segment.k_begin == p.work.k_blocks) {
      store_tile<kMTile, kMutation>(p, segment.tile, warp, lane, acc);
    } else {
      reduce_in_workspace<kMTile, kMutation>(p, cta, segment, warp, lane, acc);
    }
  }
}

// --- the kernel ---------------------------------------------------------------------------------------------

template <int kMTile, bool kQuantise, Mutation kMutation>
__global__ void __launch_bounds__(block_threads(kMTile), 1)
    sm90_fp8_gemm_1x128_128x128(const __grid_constant__ GemmParams p) {
  extern __shared__ __align__(1024) uint8_t smem[];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int cta = blockIdx.x;
  const int begin = p.work.begin(cta);
  const int end = p.work.begin(cta + 1);
  const Ring<kMTile> ring{ptx::smem_address(smem), p.stages, SmemLayout(kMTile, p.stages)};

  if (threadIdx.x == 32 * kConsumerWarps) {
    // Only one CTA fits on a multiprocessor: the next kernel's may come as soon as there is room, one by
    // one, and load their first weights while the last of ours still compute.
    ptx::launch_dependents();
    ptx::prefetch_tensor_map(&p.b_map);
    note<kMutation>(p, kStart);
    for (int s = 0; s < p.stages; ++s) {
      ptx::mbarrier_init(ring.full(s), full_arrivals(kMTile));
      ptx::mbarrier_init(ring.empty(s), kConsumerWarps);
    }
    ptx::fence_mbarrier_init();
    ptx::fence_proxy_async();
    if (p.launch_counter != nullptr && cta == 0) atomicAdd(p.launch_counter, 1);
  }
  if (warp == kConsumerWarps + 1 && !(p.flags & kWaitBeforeWeights)) {
    prefetch_b_scales<kMutation>(p, begin, end, lane);
  }
  __syncthreads();

  if (warp < kConsumerWarps) {
    consume<kMTile, kMutation>(p, ring, cta, begin, end, warp, lane);
    if (threadIdx.x == 0) note<kMutation>(p, kEnd);
  } else if (warp == kConsumerWarps) {
    if (lane == 0) {
      if (p.flags & kWaitBeforeWeights) ptx::grid_dependency_wait();
      feed_weights<kMTile, kMutation>(p, ring, begin, end);
    }
  } else if constexpr (tokens_by_tma(kMTile)) {
    feed_tokens_by_tma<kMTile, kMutation>(p, ring, begin, end, lane);
  } else {
    feed_tokens<kMTile, kQuantise, kMutation>(p, ring, begin, end, warp - kConsumerWarps - 1, lane);
  }
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_SM90_FP8_GEMM_CUH_
