// What the C ABI hides and the benchmark needs: choosing a configuration by hand, faulty variants,
// launch counts. Host code; any thread.
#ifndef HOTPROOF_KERNEL_LAUNCH_H_
#define HOTPROOF_KERNEL_LAUNCH_H_

#include "kernel/decomposition.h"
#include "kernel/fp8_gemm.h"

namespace hotproof::kernel {

// Deliberate faults, compiled in to show that the checks catch them. kReadOnly is no fault: it
// loads everything and computes nothing.
enum class Mutation {
  kNone,
  kReadOnly,
  kTimed,           // no fault either: notes when each CTA reached each step
  kDropKBlock,      // one K block of tile 0 is not added
  kSwapScaleAxes,   // B's scale of (n block, k block) is taken from (k block, n block)
  kOffByOneTile,    // tiles are stored one tile further
  kStaleWorkspace,  // sums use what the workspace held, whether another CTA wrote it or not
  kScaleTwice       // one 128 x 128 block's scale is off by a factor of 2
};

// What the timed variant of the kernel notes of each CTA. Weights are asked for by one thread, the
// others are those of the first warp that does it; 'last' are a CTA's last stage.
enum Moment {
  kStart,
  kFirstIssue,   // weights are asked for
  kSecondIssue,  // and the second stage's
  kBegun,        // all barriers are set up
  kFirstWeights,
  kDependencyMet,
  kTokensIssued,
  kFirstUnit,  // weights and tokens are there
  kLastIssue,
  kLastUnit,
  kLastProduct,
  kEnd,
  kMoments
};
struct Timeline {
  uint64_t start_ns, end_ns;  // %globaltimer
  uint32_t cycles[kMoments];  // of its multiprocessor
  uint32_t multiprocessor;
};

// 0, or -1 where 0 means something: the library's choice.
struct Tuning {
  int tile_groups = 0;          // groups of 8 weight rows in a tile
  int shared = -1;              // 1: several CTAs a tile, where K has segments
  int stage_blocks = 0;         // K blocks in a stage: 1, 2, 4
  int stages = 0;               // of weights, at most
  int ring_kib = 0;             // of weights, at most
  int window_kib = 0;           // of weights on their way at a time
  int token_stages = 0;         // ignored where a bf16 A stays
  int l2_promotion_bytes = -1;  // of the weights' tensor map: 0 (none), 128, 256
  bool never_wait =
      false;  // test builds: ignore the previous kernel (wrong, but shows what waiting costs)
  Timeline* timeline = nullptr;  // for Mutation::kTimed: device memory, one per CTA
};

// How deep a CTA's rings are.
struct RingPlan {
  int stage_blocks;  // K blocks in a stage, of either ring: 1, 2 or 4
  int stages;        // of weights
  int window;        // stages of weights on their way at a time
  int token_stages;
  bool tokens_stay;  // all of a bf16 A's K in shared memory, for a CTA's next tile too
};

// What a call will do: all of it is decided before anything is enqueued.
struct Plan {
  Decomposition work;
  RingPlan ring;
  int m_tile;  // 8, 16, 32, 64, 128
  int smem_bytes;
  size_t workspace_bytes;
};

// The front of a workspace, zero between calls: tickets, 8 per shared tile, for many tokens, and
// for few the slots in which sums meet.
inline constexpr size_t kTicketBytes = 65536, kMeetingBytes = 4 << 20;
inline constexpr size_t kControlBytes = kTicketBytes + kMeetingBytes;
inline constexpr int kMaxSharedTiles = static_cast<int>(kTicketBytes / (8 * 4));

// Checks shape and device. `quantise`: the bf16 entry point.
hotproof_status make_plan(int m, int n, int k, bool quantise, const Tuning& tuning, Plan* plan);

hotproof_status launch(const hotproof_fp8_gemm_args& args, void* stream, bool quantise,
                       const Tuning& tuning, Mutation mutation);

// Test builds (HOTPROOF_COUNT_LAUNCHES): how many GEMM kernels have run on the current device since
// it was last asked, counted by the kernels themselves. Synchronises. -1 in other builds.
int64_t take_launch_count();

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_LAUNCH_H_
