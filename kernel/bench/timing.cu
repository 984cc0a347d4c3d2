#include <algorithm>
#include <functional>
#include <map>

#include "kernel/bench/pure_read.h"
#include "kernel/bench/timing.h"

namespace hotproof::kernel::bench {
namespace {

constexpr int kGemmsPerGraph = 24;

using Enqueue = std::function<void(const Gemm&)>;

struct Method {
  std::string name;
  Enqueue enqueue;
};

Method ours(TimingContext& c, int m, const Tuning& tuning = {},
            const std::string& name = "hotproof", bool bf16 = false,
            Mutation mutation = Mutation::kNone) {
  return {
      name, [=, &c](const Gemm& gemm) {
        HOTPROOF_CHECK(launch(c.workload.args(gemm, m, bf16), c.stream, bf16, tuning, mutation));
      }};
}

// With the context's tuning of each shape.
Method tuned(TimingContext& c, int m, const std::string& name, bool bf16 = false,
             uint32_t flags = 0) {
  return {name, [=, &c](const Gemm& gemm) {
            hotproof_fp8_gemm_args args = c.workload.args(gemm, m, bf16);
            args.flags |= flags;
            HOTPROOF_CHECK(launch(args, c.stream, bf16, c.tuning[gemm.shape], Mutation::kNone));
          }};
}

Method roof(TimingContext& c, bool programmatic) {
  return {programmatic ? "roof_pdl" : "roof_plain", [=, &c](const Gemm& gemm) {
            ReadPlan plan;
            plan.programmatic = programmatic;
            enqueue_pure_read(gemm.b, gemm.n(), gemm.k(), plan, c.stream);
          }};
}

bool enqueue_cublaslt(TimingContext& c, const Gemm& gemm, int m, int index) {
  const Workload& w = c.workload;
  return c.cublaslt->enqueue({m, gemm.n(), gemm.k(), w.a(gemm.shape), w.a_scale(gemm.shape), gemm.b,
                              gemm.b_scale, w.d(gemm.shape)},
                             index, c.stream);
}

Graph graph_of(TimingContext& c, const std::vector<Gemm>& gemms, const Method& method) {
  return Graph(c.stream, [&] {
    for (const Gemm& gemm : gemms) method.enqueue(gemm);
  });
}

// The fastest of cuBLASLt's first 8 algorithms for this shape, -1 when there is none. cuBLASLt
// wants M in fours, so smaller M run as 4.
int best_algorithm(TimingContext& c, ShapeId shape, int m) {
  static std::map<std::pair<int, int>, int> known;
  const auto [it, fresh] = known.try_emplace({shape, m}, -1);
  if (!fresh) return it->second;
  const int found = c.cublaslt->prepare(m, kShapes[shape].n, kShapes[shape].k);
  const std::vector<Gemm> gemms = c.workload.of_shape(shape, 16);
  double best = 1e30;
  for (int index = 0; index < found; ++index) {
    if (!enqueue_cublaslt(c, gemms[0], m, index)) continue;  // outside a capture first
    HOTPROOF_CHECK(cudaStreamSynchronize(c.stream));
    const Graph graph(c.stream, [&] {
      for (const Gemm& gemm : gemms) enqueue_cublaslt(c, gemm, m, index);
    });
    const double us = time_interleaved(c.stream, {&graph}, 7)[0].median_us;
    if (us < best) {
      best = us;
      it->second = index;
    }
  }
  return it->second;
}

int cublaslt_m(int m) { return (m + 3) / 4 * 4; }

bool has_cublaslt(TimingContext& c, int m) {
  if (c.cublaslt == nullptr || !c.baselines.count("cublaslt")) return false;
  for (int s = 0; s < kShapeCount; ++s) {
    if (best_algorithm(c, static_cast<ShapeId>(s), cublaslt_m(m)) < 0) return false;
  }
  return true;
}

Method cublaslt(TimingContext& c, int m) {
  return {"cublaslt", [=, &c](const Gemm& gemm) {
            enqueue_cublaslt(c, gemm, cublaslt_m(m), best_algorithm(c, gemm.shape, cublaslt_m(m)));
          }};
}

// Times the methods on the same GEMMs, interleaved, and records each.
void compare_methods(TimingContext& c, const std::string& what, const std::string& shape, int m,
                     const std::vector<Gemm>& gemms, const std::vector<Method>& methods,
                     bool per_gemm) {
  std::vector<Graph> graphs;
  std::vector<const Graph*> pointers;
  double bytes = 0;
  for (const Gemm& gemm : gemms) bytes += static_cast<double>(gemm.weight_bytes());
  for (const Method& method : methods) graphs.push_back(graph_of(c, gemms, method));
  for (const Graph& graph : graphs) pointers.push_back(&graph);
  const std::vector<Spread> spreads = time_interleaved(c.stream, pointers, c.replays, c.pause_ms);
  const int divisor = per_gemm ? static_cast<int>(gemms.size()) : 1;
  for (size_t i = 0; i < methods.size(); ++i) {
    c.records.add(what, shape, methods[i].name, m, spreads[i], divisor, bytes / divisor);
  }
}

std::vector<Method> standard_methods(TimingContext& c, int m) {
  std::vector<Method> methods = {tuned(c, m, "hotproof")};
  if (m <= 32) methods.push_back(tuned(c, m, "hotproof_bf16", true));
  if (c.baselines.count("roof")) {
    methods.push_back(roof(c, true));
    methods.push_back(roof(c, false));
  }
  if (has_cublaslt(c, m)) methods.push_back(cublaslt(c, m));
  return methods;
}

}  // namespace

void time_shapes(TimingContext& c, const std::vector<ShapeId>& shapes, const std::vector<int>& ms) {
  for (int m : ms) {
    c.workload.quantise_activations(m, c.stream);
    for (ShapeId s : shapes) {
      compare_methods(c, "shape", kShapes[s].name, m, c.workload.of_shape(s, kGemmsPerGraph),
                      standard_methods(c, m), true);
    }
  }
}

void time_forward(TimingContext& c, const std::vector<int>& ms) {
  for (int m : ms) {
    c.workload.quantise_activations(m, c.stream);
    compare_methods(c, "forward", "256 GEMMs", m, c.workload.forward(), standard_methods(c, m),
                    false);
  }
}

void time_sandwich(TimingContext& c, const std::vector<int>& ms) {
  const std::vector<Gemm>& forward = c.workload.forward();
  for (int m : ms) {
    c.workload.quantise_activations(m, c.stream);
    const auto quantise = [&c, m](const Gemm& gemm, uint32_t flags) {
      Workload& w = c.workload;
      HOTPROOF_CHECK(hotproof_quantize_1x128(m, gemm.k(), w.a_bf16(gemm.shape), gemm.k(),
                                             w.a(gemm.shape), gemm.k(), w.a_scale(gemm.shape), 1,
                                             Workload::scale_stride(m), flags, c.stream));
    };
    // Each step: the glue that reads the GEMM before and writes this one's A, then the method.
    const auto between = [&](const std::string& name, Enqueue enqueue) {
      return Method{name, [&c, m, enqueue, &forward](const Gemm& gemm) {
                      const Gemm& previous =
                          &gemm == &forward.front() ? forward.back() : (&gemm)[-1];
                      enqueue_glue(c.workload.d(previous.shape), m, previous.n(),
                                   c.workload.a_bf16(gemm.shape), gemm.k(), c.stream);
                      if (enqueue) enqueue(gemm);
                    }};
    };
    const auto then = [](Enqueue first, Enqueue second) {
      return [=](const Gemm& gemm) {
        first(gemm);
        second(gemm);
      };
    };
    const Enqueue quantise_plain = [=](const Gemm& g) {
      quantise(g, HOTPROOF_NO_PROGRAMMATIC_LAUNCH);
    };
    const Enqueue quantise_pdl = [=](const Gemm& g) { quantise(g, 0); };
    const Enqueue gemm = tuned(c, m, "").enqueue;
    std::vector<Method> methods = {
        between("glue", nullptr),
        between("glue+quantise", quantise_plain),
        between("glue+quantise+hotproof", then(quantise_plain, gemm)),
        between("glue+quantise_pdl+hotproof", then(quantise_pdl, gemm)),
    };
    if (m <= 32) {
      methods.push_back(between("glue+hotproof_bf16", tuned(c, m, "", true).enqueue));
      methods.push_back(between("glue+hotproof_bf16_plain",
                                tuned(c, m, "", true, HOTPROOF_NO_PROGRAMMATIC_LAUNCH).enqueue));
    }
    if (c.baselines.count("roof")) {
      methods.push_back(between("glue+roof_plain", roof(c, false).enqueue));
      methods.push_back(between("glue+roof_pdl", roof(c, true).enqueue));
    }
    if (has_cublaslt(c, m)) {
      methods.push_back(
          between("glue+quantise+cublaslt", then(quantise_plain, cublaslt(c, m).enqueue)));
    }
    compare_methods(c, "sandwich", "256 GEMMs", m, forward, methods, false);
  }
}

namespace {

struct Variant {
  std::string name;
  Tuning tuning;
};

// One parameter at a time, and some together, around the default.
std::vector<Variant> variants(bool many) {
  std::vector<Variant> all = {{"default", {}}};
  const auto add = [&](const std::string& name, auto change) {
    Tuning t;
    change(t);
    all.push_back({name, t});
  };
  for (const int blocks : {1, 2, 4}) {
    for (const int stages : {3, 4, 6, 9}) {
      if (!many) continue;
      add("blocks " + std::to_string(blocks) + ", tokens " + std::to_string(stages),
          [&](Tuning& t) { t.stage_blocks = blocks, t.token_stages = stages; });
    }
  }
  for (const int groups : {14, 16}) {  // where K has no segments
    if (many) add("groups " + std::to_string(groups), [&](Tuning& t) { t.tile_groups = groups; });
  }
  if (many) return all;
  for (const int kib : {20, 64, 96, 512}) {
    add("window " + std::to_string(kib), [&](Tuning& t) { t.window_kib = kib; });
  }
  for (const int blocks : {1, 2, 4}) {
    add("blocks " + std::to_string(blocks), [&](Tuning& t) { t.stage_blocks = blocks; });
    add("blocks " + std::to_string(blocks) + ", window 64",
        [&](Tuning& t) { t.stage_blocks = blocks, t.window_kib = 64; });
  }
  for (const int kib : {72, 112}) {
    add("ring " + std::to_string(kib), [&](Tuning& t) { t.ring_kib = kib; });
  }
  add("L2 promotion 256", [](Tuning& t) { t.l2_promotion_bytes = 256; });
  add("shared", [](Tuning& t) { t.shared = 1; });
  add("no dependency", [](Tuning& t) { t.never_wait = true; });
  return all;
}

}  // namespace

void sweep(TimingContext& c, const std::vector<ShapeId>& shapes, const std::vector<int>& ms) {
  for (int m : ms) {
    c.workload.quantise_activations(m, c.stream);
    for (ShapeId s : shapes) {
      const std::vector<Gemm> gemms = c.workload.of_shape(s, kGemmsPerGraph);
      Plan plan;
      HOTPROOF_CHECK(make_plan(m, kShapes[s].n, kShapes[s].k, false, {}, &plan));
      std::printf(
          "# %s M %d: %d tiles of %d rows, %d CTAs, %d segments%s, %d blocks a stage, %d + %d "
          "stages, "
          "window %d, %d bytes of shared memory\n",
          kShapes[s].name, m, plan.work.tiles, plan.work.tile_groups * kGroup, plan.work.ctas(),
          plan.work.segments, plan.work.shared ? " shared" : "", plan.ring.stage_blocks,
          plan.ring.stages, plan.ring.token_stages, plan.ring.window, plan.smem_bytes);
      std::vector<Method> methods;
      if (c.baselines.count("roof")) methods = {roof(c, true), roof(c, false)};
      for (const Variant& v : variants(m > kMostFewTokens)) {
        Plan fits;
        if (make_plan(m, kShapes[s].n, kShapes[s].k, false, v.tuning, &fits) == HOTPROOF_OK) {
          methods.push_back(ours(c, m, v.tuning, v.name));
        }
      }
      if (m <= 8) methods.push_back(ours(c, m, {}, "read only", false, Mutation::kReadOnly));
      for (const int shared : {-1, 0, 1}) {
        for (const int kib : {0, 64}) {
          Tuning t;
          t.shared = shared;
          t.window_kib = kib;
          const std::string name =
              "bf16, shared " + std::to_string(shared) + ", window " + std::to_string(kib);
          if (m <= 32) methods.push_back(ours(c, m, t, name, true));
        }
      }
      compare_methods(c, "sweep", kShapes[s].name, m, gemms, methods, true);
    }
  }
}

void once(TimingContext& c, const std::vector<ShapeId>& shapes, int m) {
  c.workload.quantise_activations(m, c.stream);
  for (ShapeId s : shapes) {
    const Gemm gemm = c.workload.of_shape(s, 1)[0];
    for (Mutation mutation : {Mutation::kReadOnly, Mutation::kNone}) {
      HOTPROOF_CHECK(launch(c.workload.args(gemm, m, false), c.stream, false, {}, mutation));
      HOTPROOF_CHECK(cudaStreamSynchronize(c.stream));
    }
    ReadPlan plan;
    plan.row_piece = 128;
    enqueue_pure_read(gemm.b, gemm.n(), gemm.k(), plan, c.stream);
    HOTPROOF_CHECK(cudaStreamSynchronize(c.stream));
  }
}

void sweep_reads(TimingContext& c, const std::vector<ShapeId>& shapes) {
  for (ShapeId s : shapes) {
    std::vector<Method> methods;
    const auto add = [&](const std::string& name, const ReadPlan& plan, bool flat = false) {
      methods.push_back({name + ", " + std::to_string(plan.ctas) + " CTAs, " +
                             std::to_string(plan.stages) + " stages",
                         [plan, flat, &c](const Gemm& gemm) {
                           const int k = flat ? 128 : gemm.k();
                           const int n = static_cast<int>(gemm.weight_bytes() / k);
                           enqueue_pure_read(gemm.b, n, k, plan, c.stream);
                         }});
    };
    for (const bool programmatic : {true, false}) {
      const std::string suffix = programmatic ? "" : ", plain";
      for (const int stages : {2, 3, 4, 6, 12}) {
        ReadPlan plan;
        plan.stages = stages;
        plan.programmatic = programmatic;
        add("contiguous" + suffix, plan);
        plan.copy = ReadPlan::kTensorBoxes;
        plan.l2_promotion = 0;
        for (const int row_piece : {128, 256, 512, 1024}) {
          if (row_piece > 256 && stages != 3 && stages != 6) continue;
          plan.row_piece = row_piece;
          add(std::to_string(row_piece) + "-byte boxes" + suffix, plan);
        }
        plan.row_piece = 128;
        if (stages == 6) add("contiguous by boxes" + suffix, plan, true);
        plan.l2_promotion = 256;
        if (stages == 6) add("128-byte boxes, promotion 256" + suffix, plan);
      }
    }
    compare_methods(c, "reads", kShapes[s].name, 0, c.workload.of_shape(s, kGemmsPerGraph), methods,
                    true);
  }
}

}  // namespace hotproof::kernel::bench
