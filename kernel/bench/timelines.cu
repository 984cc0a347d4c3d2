#include <algorithm>
#include <cstdio>

#include "kernel/bench/timing.h"

namespace hotproof::kernel::bench {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

void show_timelines(TimingContext& c, const std::vector<ShapeId>& shapes, int m) {
  static const char* const kNames[kMoments] = {"start",         "first issue",   "second issue",
                                               "begun",         "first weights", "dependency met",
                                               "tokens issued", "first unit",    "last issue",
                                               "last unit",     "last product",  "end"};
  constexpr int kGemms = 12;
  c.workload.quantise_activations(m, c.stream);
  for (const int kind : {0, 1, 2, 3}) {
    const bool glued = kind & 1, bf16 = kind & 2;
    for (ShapeId s : shapes) {
      Plan plan;
      HOTPROOF_CHECK(make_plan(m, kShapes[s].n, kShapes[s].k, bf16, {}, &plan));
      const int ctas = plan.work.ctas();
      DeviceBuffer<Timeline> buffer(static_cast<size_t>(kGemms) * ctas);
      const std::vector<Gemm> gemms = c.workload.of_shape(s, kGemms);
      const Graph graph(c.stream, [&] {
        for (int i = 0; i < kGemms; ++i) {
          Tuning tuning;
          tuning.timeline = buffer.get() + static_cast<size_t>(i) * ctas;
          if (glued) {
            enqueue_glue(c.workload.d(s), m, kShapes[s].n, c.workload.a_bf16(s), kShapes[s].k,
                         c.stream);
          }
          HOTPROOF_CHECK(
              launch(c.workload.args(gemms[i], m, bf16), c.stream, bf16, tuning, Mutation::kTimed));
        }
      });
      for (int r = 0; r < 5; ++r) graph.replay(c.stream);
      HOTPROOF_CHECK(cudaStreamSynchronize(c.stream));
      const std::vector<Timeline> all = buffer.download();
      // The GEMM in the middle and the one before it.
      const Timeline* before = &all[static_cast<size_t>(kGemms / 2 - 1) * ctas];
      const Timeline* here = before + ctas;
      uint64_t before_end = 0;
      double cycles = 0, ns = 0;
      for (int i = 0; i < ctas; ++i) {
        before_end = std::max(before_end, before[i].end_ns);
        cycles += here[i].cycles[kEnd] - here[i].cycles[kStart];
        ns += static_cast<double>(here[i].end_ns - here[i].start_ns);
      }
      std::printf(
          "timeline %-8s %s%s, us after the end of the GEMM before: CTAs' min/median/max "
          "(median since the CTA's start)\n",
          kShapes[s].name, glued ? "glued" : "back to back", bf16 ? ", bf16 A" : "");
      for (int moment = 0; moment < kMoments; ++moment) {
        std::vector<double> us, since;
        for (int i = 0; i < ctas; ++i) {
          since.push_back((here[i].cycles[moment] - here[i].cycles[kStart]) * ns / cycles * 1e-3);
          us.push_back(static_cast<int64_t>(here[i].start_ns - before_end) * 1e-3 + since.back());
        }
        std::printf("timeline %-8s %-14s %6.2f / %6.2f / %6.2f (+%.2f)\n", kShapes[s].name,
                    kNames[moment], *std::min_element(us.begin(), us.end()), median(us),
                    *std::max_element(us.begin(), us.end()), median(since));
      }
    }
  }
}

}  // namespace hotproof::kernel::bench
