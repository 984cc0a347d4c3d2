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
  const bool halves = c.range.k_middle < c.range.k_end;
  std::vector<int> half_of;  // of every stage
  for (StageWalk at(c.range, c.step); !at.done(); at.next()) half_of.push_back(at.half);
  const int stages = static_cast<int>(half_of.size());
  Ring weights(c.weight_stages, halves ? 1 : 2), tokens(c.token_stages, halves ? 1 : 2);
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
      const int half = agent - 4;
      if (halves && half_of[i] != half) {
        ++i;
        continue;
      }
      if (!weights.may_read(i) || !tokens.may_read(i)) continue;
      problem = weights.read(i);
      if (problem.empty()) problem = tokens.read(i);
      i += 1;
    }
    if (!problem.empty()) return problem;
    idle = 0;
  }
}

const CtaRange kHalves{0, 2, 0, 24, 48}, kOdd{3, 5, 0, 10, 23}, kWhole{0, 2, 0, 40, 40};

TEST(Rings, NoStageIsReadEarlyOrOverwritten) {
  for (const CtaRange& range : {kHalves, kOdd, kWhole}) {
    const bool halves = range.k_middle < range.k_end;
    for (int step : {1, 2, 4}) {
      for (int wanted : {1, 3, 4, 5, 7, 10}) {
        const int weight_stages = weight_ring_stages(wanted, halves);
        for (int window : {1, 2, weight_stages}) {
          const Config c{range, step, weight_stages, std::min(window, weight_stages),
                         token_ring_stages(wanted, halves)};
          for (unsigned seed = 0; seed < 30; ++seed) {
            ASSERT_EQ(run(c, seed), "") << "step " << step << ", " << c.weight_stages << " + "
                                        << c.token_stages << " stages, window " << c.window;
          }
        }
      }
    }
  }
}

// Without the rules for halves it does happen.
TEST(Rings, OtherNumbersOfStagesWithHalvesAreUnsafe) {
  for (int token_stages : {3, 4, 5}) {
    int problems = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
      problems += run({kHalves, 4, 8, 2, token_stages}, seed) != "";
    }
    EXPECT_GT(problems, 0) << token_stages << " token stages";
  }
}

TEST(StageWalk, EveryKBlockOfEveryTileOnceAndHalvesTakeTurns) {
  for (const CtaRange& range : {kHalves, kOdd, kWhole}) {
    for (int step : {1, 2, 4}) {
      const bool halves = range.k_middle < range.k_end;
      std::vector<int> seen((range.end_tile - range.first_tile) * range.k_end, 0);
      int stage = 0;
      for (StageWalk at(range, step); !at.done(); at.next(), ++stage) {
        EXPECT_EQ(at.half, halves ? stage % 2 : 0);
        for (int k = at.k(); k < std::min(at.k() + step, at.end()); ++k) {
          ++seen[(at.tile - range.first_tile) * range.k_end + k];
        }
      }
      EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
    }
  }
}

}  // namespace
}  // namespace hotproof::kernel
