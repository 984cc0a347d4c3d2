// One-line wrappers around the PTX that the kernels use. Nothing here knows about GEMMs.
#ifndef HOTPROOF_KERNEL_PTX_CUH_
#define HOTPROOF_KERNEL_PTX_CUH_

#include <cuda.h>

#include <cstdint>

// Spins longer than this trap instead of hanging; 0 waits for ever. Set in test builds.
#ifndef HOTPROOF_SPIN_LIMIT
#define HOTPROOF_SPIN_LIMIT 0
#endif

namespace hotproof::kernel::ptx {

__device__ inline uint32_t smem_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// --- mbarrier ---
__device__ inline void mbarrier_init(uint32_t bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}
__device__ inline void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void mbarrier_arrive(uint32_t bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}
__device__ inline void mbarrier_arrive_expect_tx(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
               : "memory");
}
// Arrives on `bar` once this thread's cp.async copies so far have landed.
__device__ inline void mbarrier_arrive_after_cp_async(uint32_t bar) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
}
__device__ inline bool mbarrier_try_wait(uint32_t bar, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n .reg .pred p;\n"
      " mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      " selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(bar), "r"(parity)
      : "memory");
  return done != 0;
}
// Without waiting at all.
__device__ inline bool mbarrier_test_wait(uint32_t bar, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{\n .reg .pred p;\n"
      " mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      " selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(bar), "r"(parity)
      : "memory");
  return done != 0;
}
__device__ inline void count_spin(uint32_t& spins) {
  if (HOTPROOF_SPIN_LIMIT > 0 && ++spins > static_cast<uint32_t>(HOTPROOF_SPIN_LIMIT)) __trap();
}
__device__ inline void mbarrier_wait(uint32_t bar, uint32_t parity) {
  uint32_t spins = 0;
  while (!mbarrier_try_wait(bar, parity)) count_spin(spins);
}

// --- copies ---
inline constexpr uint64_t kEvictFirst =
    0x12F0000000000000ull;  // L2 policies, as createpolicy makes them
inline constexpr uint64_t kEvictNormal = 0x1000000000000000ull;
inline constexpr uint64_t kEvictLast = 0x14F0000000000000ull;

__device__ inline void prefetch_tensor_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
// Box at element (x, y) of a 2D tensor -> shared memory; completes `bytes of the box` on bar.
__device__ inline void tma_load_2d(uint32_t dst, const CUtensorMap* map, int x, int y, uint32_t bar,
                                   uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(dst),
      "l"(map), "r"(x), "r"(y), "r"(bar), "l"(policy)
      : "memory");
}
__device__ inline void tma_load_3d(uint32_t dst, const CUtensorMap* map, int x, int y, int z,
                                   uint32_t bar, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(dst),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(bar), "l"(policy)
      : "memory");
}
__device__ inline void tma_load_4d(uint32_t dst, const CUtensorMap* map, int x, int y, int z, int w,
                                   uint32_t bar, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(dst),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(bar), "l"(policy)
      : "memory");
}
// 16-byte aligned contiguous bytes -> shared memory.
__device__ inline void bulk_load(uint32_t dst, const void* src, uint32_t bytes, uint32_t bar,
                                 uint64_t policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], %4;" ::"r"(dst),
      "l"(src), "r"(bytes), "r"(bar), "l"(policy)
      : "memory");
}
// 4 bytes -> shared memory, or 4 zero bytes without reading src.
__device__ inline void cp_async_4(uint32_t dst, const void* src, bool read) {
  const int bytes = read ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(dst), "l"(src), "r"(bytes)
               : "memory");
}

__device__ inline float load_shared(uint32_t address) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
  return value;
}
template <int kCount>
__device__ inline void load_shared(uint32_t address, float (&v)[kCount]) {
  static_assert(kCount == 1 || kCount == 2 || kCount == 4);
  if constexpr (kCount == 1) {
    v[0] = load_shared(address);
  } else if constexpr (kCount == 2) {
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                 : "=f"(v[0]), "=f"(v[1])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                 : "r"(address)
                 : "memory");
  }
}
__device__ inline float2 load_shared_v2(uint32_t address) {
  float2 v;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address) : "memory");
  return v;
}
__device__ inline void store_shared(uint32_t address, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}
__device__ inline void store_shared_v2(uint32_t address, uint32_t x, uint32_t y) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(x), "r"(y) : "memory");
}

__device__ inline void named_barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ inline void named_barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// --- registers ---
// By all warps of a warpgroup.
template <int kCount>
__device__ inline void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
__device__ inline void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}

// --- programmatic dependent launch ---
// Returns once every kernel this launch depends on has finished and its writes are visible.
__device__ inline void grid_dependency_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
// Lets the next kernel of the stream start, once every CTA has said so or ended.
__device__ inline void launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// --- small things ---
// Transposes the 8x8 matrix of 16-bit elements that the warp holds (lane: row lane/4, columns
// 2*(lane%4)).
__device__ inline uint32_t transpose_8x8(uint32_t fragment) {
  uint32_t out;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(out) : "r"(fragment));
  return out;
}
__device__ inline int atomic_add_acq_rel(int* address, int value) {
  int old;
  asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], %2;"
               : "=r"(old)
               : "l"(address), "r"(value)
               : "memory");
  return old;
}
// 16 bytes at once, from L2; no order with other accesses.
__device__ inline uint4 load_16(const uint4* address) {
  uint4 value;
  asm volatile(
      "{\n .reg .b128 out;\n .reg .b64 low, high;\n ld.relaxed.gpu.global.b128 out, [%4];\n"
      " mov.b128 {low, high}, out;\n mov.b64 {%0, %1}, low;\n mov.b64 {%2, %3}, high;\n}"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(address)
      : "memory");
  return value;
}
// Swaps 16 bytes at once; no order with other accesses.
__device__ inline uint4 atomic_exchange_16(uint4* address, const uint4& value) {
  uint4 old;
  asm volatile(
      "{\n .reg .b128 in, out;\n .reg .b64 low, high;\n"
      " mov.b64 low, {%4, %5};\n mov.b64 high, {%6, %7};\n mov.b128 in, {low, high};\n"
      " atom.relaxed.gpu.global.exch.b128 out, [%8], in;\n"
      " mov.b128 {low, high}, out;\n mov.b64 {%0, %1}, low;\n mov.b64 {%2, %3}, high;\n}"
      : "=r"(old.x), "=r"(old.y), "=r"(old.z), "=r"(old.w)
      : "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "l"(address)
      : "memory");
  return old;
}
__device__ inline uint32_t multiprocessor() {
  uint32_t id;
  asm volatile("mov.u32 %0, %smid;" : "=r"(id));
  return id;
}
__device__ inline uint64_t global_ns() {
  uint64_t ns;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
  return ns;
}
// Two floats -> two e4m3, round to nearest even, saturating; `low` becomes the low byte.
__device__ inline uint16_t e4m3x2(float low, float high) {
  uint16_t out;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(out) : "f"(high), "f"(low));
  return out;
}

// --- wgmma ---
__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Until at most kLeft commits are unfinished.
template <int kLeft>
__device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}
__device__ inline void wgmma_wait_all() { wgmma_wait<0>(); }
// The compiler moves no use of these registers across.
template <int kCount>
__device__ inline void keep_in_order(float (&registers)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}

// A K-major operand of 128-byte rows with the 128-byte swizzle: groups of 8 rows, each 1024 bytes
// long, group_stride bytes apart.
struct Descriptor {
  uint32_t low, high;
  __device__ Descriptor(uint32_t address, uint32_t group_stride)
      : low(address >> 4 | 1u << 16), high(group_stride >> 4 | 1u << 30) {}
  __device__ Descriptor plus(uint32_t bytes) const {
    Descriptor moved = *this;
    moved.low += bytes >> 4;
    return moved;
  }
  __device__ uint64_t at(uint32_t bytes) const {
    return static_cast<uint64_t>(high) << 32 | (low + (bytes >> 4));
  }
};
// d[64 x N] (+)= A[64 x 32] * B[N x 32]^T, e4m3 in, fp32 out. Lane l of warp w holds, in d[4j + 2h
// + e], row 16w + l/4 + 8h, column 8j + 2(l%4) + e. `accumulate` 0 overwrites d.
template <int kN>
__device__ void wgmma_m64k32(float (&d)[kN / 2], uint64_t a, uint64_t b, int accumulate);

#define HOTPROOF_D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define HOTPROOF_D16(i) HOTPROOF_D4(i), HOTPROOF_D4(i + 4), HOTPROOF_D4(i + 8), HOTPROOF_D4(i + 12)
#define HOTPROOF_WGMMA(N, REGS, A, B, P, ...)                                                \
  template <>                                                                                \
  __device__ inline void wgmma_m64k32<N>(float(&d)[N / 2], uint64_t a, uint64_t b,           \
                                         int accumulate) {                                   \
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, %" P                                    \
                 ", 0;\n"                                                                    \
                 " wgmma.mma_async.sync.aligned.m64n" #N "k32.f32.e4m3.e4m3 {" REGS "}, %" A \
                 ", %" B ", p, 1, 1;\n}"                                                     \
                 : __VA_ARGS__                                                               \
                 : "l"(a), "l"(b), "r"(accumulate));                                         \
  }
#define HOTPROOF_R8(a, b, c, d, e, f, g, h) \
  "%" #a ",%" #b ",%" #c ",%" #d ",%" #e ",%" #f ",%" #g ",%" #h
#define HOTPROOF_R16                  \
  HOTPROOF_R8(0, 1, 2, 3, 4, 5, 6, 7) \
  "," HOTPROOF_R8(8, 9, 10, 11, 12, 13, 14, 15)
#define HOTPROOF_R32 \
  HOTPROOF_R16       \
  "," HOTPROOF_R8(16, 17, 18, 19, 20, 21, 22, 23) "," HOTPROOF_R8(24, 25, 26, 27, 28, 29, 30, 31)
#define HOTPROOF_R48 \
  HOTPROOF_R32       \
  "," HOTPROOF_R8(32, 33, 34, 35, 36, 37, 38, 39) "," HOTPROOF_R8(40, 41, 42, 43, 44, 45, 46, 47)
#define HOTPROOF_R64 \
  HOTPROOF_R48       \
  "," HOTPROOF_R8(48, 49, 50, 51, 52, 53, 54, 55) "," HOTPROOF_R8(56, 57, 58, 59, 60, 61, 62, 63)
HOTPROOF_WGMMA(8, "%0,%1,%2,%3", "4", "5", "6", HOTPROOF_D4(0))
HOTPROOF_WGMMA(16, HOTPROOF_R8(0, 1, 2, 3, 4, 5, 6, 7), "8", "9", "10", HOTPROOF_D4(0),
               HOTPROOF_D4(4))
HOTPROOF_WGMMA(32, HOTPROOF_R16, "16", "17", "18", HOTPROOF_D16(0))
HOTPROOF_WGMMA(64, HOTPROOF_R32, "32", "33", "34", HOTPROOF_D16(0), HOTPROOF_D16(16))
HOTPROOF_WGMMA(80, HOTPROOF_R32 "," HOTPROOF_R8(32, 33, 34, 35, 36, 37, 38, 39), "40", "41", "42",
               HOTPROOF_D16(0), HOTPROOF_D16(16), HOTPROOF_D4(32), HOTPROOF_D4(36))
HOTPROOF_WGMMA(112, HOTPROOF_R48 "," HOTPROOF_R8(48, 49, 50, 51, 52, 53, 54, 55), "56", "57", "58",
               HOTPROOF_D16(0), HOTPROOF_D16(16), HOTPROOF_D16(32), HOTPROOF_D4(48),
               HOTPROOF_D4(52))
HOTPROOF_WGMMA(128, HOTPROOF_R64, "64", "65", "66", HOTPROOF_D16(0), HOTPROOF_D16(16),
               HOTPROOF_D16(32), HOTPROOF_D16(48))
HOTPROOF_WGMMA(136, HOTPROOF_R64 ",%64,%65,%66,%67", "68", "69", "70", HOTPROOF_D16(0),
               HOTPROOF_D16(16), HOTPROOF_D16(32), HOTPROOF_D16(48), HOTPROOF_D4(64))
#undef HOTPROOF_R64
#undef HOTPROOF_R48
#undef HOTPROOF_R32
#undef HOTPROOF_R16
#undef HOTPROOF_R8
#undef HOTPROOF_WGMMA
#undef HOTPROOF_D16
#undef HOTPROOF_D4

}  // namespace hotproof::kernel::ptx

#endif  // HOTPROOF_KERNEL_PTX_CUH_
