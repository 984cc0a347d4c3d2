// The rings' protocol, without a GPU: producers, memory and consumers step in random order,
// barriers tell only parity as mbarriers do, and every slot remembers whose data it holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "kernel/stage_walk.h"

namespace hotproof::kernel {
namespace {

struct Barrier {
  int needed, pending, phase = 0;
  explicit Barrier(int count) : needed(count), pending(count) {}
  void arrive() {
    if (--pending == 0) ++phase, pending = needed;
  }
  bool passed(int parity) const { return (phase & 1) != parity; }
};

struct Slot {
  Barrier full{1}, empty;
  int stage = -1, reads = 0;
  bool landed = false;
  explicit Slot(int readers) : empty(readers) {}
};

struct Ring {
  std::vector<Slot> slots;
  int readers;
  std::vector<int> flying;  // slots whose load is on its way
  Ring(int stages, int readers) : slots(stages, Slot(readers)), readers(readers) {}
  Slot& of(int stage) { return slots[stage % slots.size()]; }
  int parity(int stage) const { return stage / static_cast<int>(slots.size()) % 2; }
  bool may_fill(int stage) { return of(stage).empty.passed(parity(stage) ^ 1); }
  bool may_read(int stage) { return of(stage).full.passed(parity(stage)); }
  std::string fill(int stage) {
    Slot& slot = of(stage);
    if (slot.stage >= 0 && slot.reads < readers) {
      return "stage " + std::to_string(stage) + " overwrites unread " + std::to_string(slot.stage);
    }
    slot.stage = stage, slot.reads = 0, slot.landed = false;
    flying.push_back(stage % static_cast<int>(slots.size()));
    return "";
  }
  std::string read(int stage) {
    Slot& slot = of(stage);
    if (slot.stage != stage || !slot.landed) {
      return "stage " + std::to_string(stage) + " read, but there is " + std::to_string(slot.stage);
    }
    ++slot.reads;
    slot.empty.arrive();
    return "";
  }
  bool land(std::mt19937& random) {
    if (flying.empty()) return false;
    std::swap(flying[random() % flying.size()], flying.back());
    slots[flying.back()].landed = true;
    slots[flying.back()].full.arrive();
    flying.pop_back();
    return true;
  }
};

struct Config {
  CtaRange range;
  int step, weight_stages, window, token_stages;
};

// What goes wrong, or "".
std::string run(const Config& c, unsigned seed) {
  std::mt19937 random(seed);
  int stages = 0;
  for (StageWalk at(c.range, c.step); !at.done(); at.next()) ++stages;
  Ring weights(c.weight_stages, 2), tokens(c.token_stages, 2);
  // Agents: weight thread, token warps, consumer warpgroups, memory of either ring.
  int next[6] = {0, 0, 1, 2, 0, 0};
  int slow = 0;
  for (int64_t round = 0, idle = 0;; ++round) {
    if (std::all_of(next, next + 6, [&](int n) { return n >= stages; })) return "";
    if (++idle > 20000) return "nothing moves";
    if (round % 97 == 0)
      slow = static_cast<int>(random() % 9);  // this one hardly moves for a while
    const int agent = static_cast<int>(random() % 8);
    if (agent == slow && random() % 64 != 0) continue;
    if (agent >= 6) {
      if ((agent == 6 ? weights : tokens).land(random)) idle = 0;
      continue;
    }
    int& i = next[agent];
    if (i >= stages) continue;
    std::string problem;
    if (agent == 0) {
      if (!weights.may_fill(i) || (i >= c.window && !weights.may_read(i - c.window))) continue;
      problem = weights.fill(i);
      i += 1;
    } else if (agent <= 3) {
      if (!tokens.may_fill(i)) continue;
      problem = tokens.fill(i);
      i += kTokenWarps;
    } else {
      if (!weights.may_read(i) || !tokens.may_read(i)) continue;
      problem = weights.read(i);
      if (problem.empty()) problem = tokens.read(i);
      i += 1;
    }
    if (!problem.empty()) return problem;
    idle = 0;
  }
}

const CtaRange kPair{7, 8, 16, 32}, kOdd{3, 5, 0, 23}, kWhole{0, 2, 0, 40};

TEST(Rings, NoStageIsReadEarlyOrOverwritten) {
  for (const CtaRange& range : {kPair, kOdd, kWhole}) {
    for (int step : {1, 2, 4}) {
      for (int wanted : {1, 3, 4, 5, 7, 10}) {
        const int weight_stages = std::max(wanted, kFewestWeightStages);
        for (int window : {1, 2, weight_stages}) {
          const Config c{range, step, weight_stages, window, std::max(wanted, kFewestTokenStages)};
          for (unsigned seed = 0; seed < 30; ++seed) {
            ASSERT_EQ(run(c, seed), "") << "step " << step << ", " << c.weight_stages << " + "
                                        << c.token_stages << " stages, window " << c.window;
          }
        }
      }
    }
  }
}

// With fewer than kFewestTokenStages it does happen.
TEST(Rings, FewerTokenStagesAreUnsafe) {
  int problems = 0;
  for (unsigned seed = 0; seed < 200; ++seed) problems += run({kWhole, 2, 8, 2, 2}, seed) != "";
  EXPECT_GT(problems, 0);
}

TEST(StageWalk, EveryKBlockOfEveryTileOnce) {
  for (const CtaRange& range : {kPair, kOdd, kWhole}) {
    for (int step : {1, 2, 4}) {
      std::vector<int> seen((range.end_tile - range.first_tile) * range.k_end, 0);
      for (StageWalk at(range, step); !at.done(); at.next()) {
        EXPECT_GE(at.k, range.k_begin);
        for (int k = at.k; k < std::min(at.k + step, range.k_end); ++k) {
          ++seen[(at.tile - range.first_tile) * range.k_end + k];
        }
      }
      for (size_t i = 0; i < seen.size(); ++i) {
        EXPECT_EQ(seen[i], static_cast<int>(i) % range.k_end >= range.k_begin ? 1 : 0);
      }
    }
  }
}

// The host says where the second stage lies; CTAs ask for it before they walk.
TEST(StageWalk, TheSecondStageIsWhereTheHostSays) {
  for (const int n : {128, 5120, 34816}) {
    for (const int k : {128, 384, 1024, 5120, 17408}) {
      for (const int m : {8, 128}) {
        const Decomposition work = decompose(m, n, k, 132);
        for (const int step : {1, 2, 4}) {
          const int to_second = to_second_stage(work, step);
          bool all = true;
          for (int part = 0; part < work.parts(); ++part) {
            const CtaRange range{0, work.end_tile(0), work.cut(work.first_segment(part)),
                                 work.cut(work.end_segment(part))};
            StageWalk at(range, step);
            at.next();
            all &= !at.done() && at.tile == 0;
            if (to_second > 0) {
              EXPECT_EQ(at.tile, 0);
              EXPECT_EQ(at.k, range.k_begin + to_second);
            }
          }
          EXPECT_EQ(to_second > 0, all)
              << "M " << m << " N " << n << " K " << k << " step " << step;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hotproof::kernel
