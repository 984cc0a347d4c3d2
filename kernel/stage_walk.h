// In which order a CTA's K blocks pass through its rings of stages. The kernel's producers and
// consumers walk it each for itself; the CPU tests walk it too.
#ifndef HOTPROOF_KERNEL_STAGE_WALK_H_
#define HOTPROOF_KERNEL_STAGE_WALK_H_

#include "kernel/decomposition.h"

namespace hotproof::kernel {

// A CTA's share: tiles [first_tile, end_tile), of each K blocks [k_begin, k_end).
struct CtaRange {
  int first_tile, end_tile, k_begin, k_end;
};

// Tile by tile, along K.
struct StageWalk {
  CtaRange range;
  int tile, k, step;  // k: the stage's first K block; step: K blocks in a stage

  HOTPROOF_HOST_DEVICE constexpr StageWalk(const CtaRange& range, int stage_blocks)
      : range(range), tile(range.first_tile), k(range.k_begin), step(stage_blocks) {}
  HOTPROOF_HOST_DEVICE constexpr bool done() const { return tile >= range.end_tile; }
  HOTPROOF_HOST_DEVICE constexpr void next() {
    k += step;
    if (k >= range.k_end) {
      k = range.k_begin;
      ++tile;
    }
  }
  HOTPROOF_HOST_DEVICE constexpr void next(int count) {
    for (; count > 0 && !done(); --count) next();
  }
};

// K blocks from a CTA's first stage to its second, of the same tile; 0 when there are CTAs that
// have none.
constexpr int to_second_stage(const Decomposition& work, int stage_blocks) {
  for (int part = 0; part < work.parts(); ++part) {
    const int k = work.cut(work.end_segment(part)) - work.cut(work.first_segment(part));
    if (k <= stage_blocks) return 0;
  }
  return stage_blocks;
}

inline constexpr int kTokenWarps = 3;  // take every third stage each

inline constexpr int kFirstStages = 2;  // of weights: asked for before anything waits

// Stages that a ring may have, at least: token warps take turns, with fewer than three one could be
// two passes of the ring ahead of a slot, where slots are filled more than once.
inline constexpr int kFewestTokenStages = kTokenWarps;
inline constexpr int kFewestWeightStages = kFirstStages;

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_STAGE_WALK_H_
