// In which order a CTA's K blocks pass through its rings of stages. The kernel's producers and
// consumers walk it each for itself; the CPU tests walk it too.
#ifndef HOTPROOF_KERNEL_STAGE_WALK_H_
#define HOTPROOF_KERNEL_STAGE_WALK_H_

#include "kernel/decomposition.h"

namespace hotproof::kernel {

// A CTA's share: tiles [first_tile, end_tile), of each K blocks [k_begin, k_end); the second
// warpgroup's half begins at k_middle, which is k_end when the warpgroups don't divide K.
struct CtaRange {
  int first_tile, end_tile, k_begin, k_middle, k_end;
};

// Tile by tile, along K. With halves they take turns, strictly: a half that is shorter by a stage
// has an empty one at its end. Then stage i is always read by the same warpgroup, and in rings of
// an even number of stages so is every slot; otherwise one warpgroup might wait for a slot's next
// but one filling, which a barrier's parity can't tell from its last.
struct StageWalk {
  CtaRange range;
  int tile, step;  // step: K blocks in a stage
  int offset = 0;  // from the half's beginning, in K blocks
  int half = 0;

  HOTPROOF_HOST_DEVICE constexpr StageWalk(const CtaRange& range, int stage_blocks)
      : range(range), tile(range.first_tile), step(stage_blocks) {}
  HOTPROOF_HOST_DEVICE constexpr bool done() const { return tile >= range.end_tile; }
  // The stage's first K block; those from end() on are not this half's.
  HOTPROOF_HOST_DEVICE constexpr int k() const {
    return (half ? range.k_middle : range.k_begin) + offset;
  }
  HOTPROOF_HOST_DEVICE constexpr int end() const { return half ? range.k_end : range.k_middle; }
  HOTPROOF_HOST_DEVICE constexpr void next() {
    if (half == 0 && range.k_middle < range.k_end) {
      half = 1;
      return;
    }
    half = 0;
    offset += step;
    if (range.k_begin + offset >= range.k_middle && range.k_middle + offset >= range.k_end) {
      offset = 0;
      ++tile;
    }
  }
  HOTPROOF_HOST_DEVICE constexpr void next(int count) {
    for (; count > 0 && !done(); --count) next();
  }
};

inline constexpr int kTokenWarps = 3;  // take every third stage each

// Stages that the token ring may have, at least `wanted` where that fits: with halves every slot
// must always be filled by the same token warp and read by the same warpgroup. Without, token warps
// take turns: with fewer than three stages one could be two passes of the ring ahead of a slot.
HOTPROOF_HOST_DEVICE constexpr int token_ring_stages(int wanted, bool halves) {
  if (!halves) return wanted < kTokenWarps ? kTokenWarps : wanted;
  return 2 * kTokenWarps * ceil_div(wanted < 1 ? 1 : wanted, 2 * kTokenWarps);
}
// And the weight ring, at most `wanted`.
HOTPROOF_HOST_DEVICE constexpr int weight_ring_stages(int wanted, bool halves) {
  return wanted < 2 ? 2 : halves ? wanted / 2 * 2 : wanted;
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_STAGE_WALK_H_
