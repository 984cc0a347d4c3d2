#include <algorithm>
#include <cstdio>
#include <random>
#include <string>

#include "kernel/bench/check_tools.h"
#include "kernel/bench/workload.h"
#include "kernel/numerics.h"

namespace hotproof::kernel::bench {
namespace {

std::vector<int> sample_columns(int n) {
  std::vector<int> columns;
  for (int tile = 0; tile * 128 < n; tile += 7) {
    for (int i : {0, 63, 64, 127}) columns.push_back(tile * 128 + i);
  }
  for (int i = 0; i < 128; ++i) columns.push_back(n - 128 + i);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

}  // namespace

int check_failures = 0;

bool report(const std::string& name, bool ok, const std::string& detail) {
  std::printf("%-4s %s%s%s\n", ok ? "ok" : "FAIL", name.c_str(), detail.empty() ? "" : ": ",
              detail.c_str());
  std::fflush(stdout);
  if (!ok) ++check_failures;
  return ok;
}

std::string text(const Mismatch& mismatch) {
  char ratio[48];
  std::snprintf(ratio, sizeof(ratio), "worst %.3f of the bound", mismatch.worst_ratio);
  if (mismatch.count == 0) return ratio;
  return std::to_string(mismatch.count) + " elements outside, first " + mismatch.first + "; " +
         ratio;
}

Tuning with_tile(int tile_groups, bool shared) {
  Tuning tuning;
  tuning.tile_groups = tile_groups;
  tuning.shared = shared;
  return tuning;
}

bool same_rows(const Problem& p, const std::vector<uint16_t>& all,
               const std::vector<uint16_t>& some, int m) {
  for (int row = 0; row < p.max_m; ++row) {
    for (int n = 0; n < p.ldd(); ++n) {
      const size_t i = static_cast<size_t>(row) * p.ldd() + n;
      const uint16_t want = row < m && n < p.n ? all[i] : kPoison;
      if (some[i] != want) return false;
    }
  }
  return true;
}

// Thousands of runs on two streams at once, beside a kernel that hogs memory, as launches and as a
// graph, D and the workspace behind its control bytes poisoned in between (with up to 32 tokens all
// is in those bytes, which have to be zero in the end); every run compared on the device.
void check_determinism(int runs, const Shape& shape, int m, const Tuning& tuning, bool quantise) {
  constexpr int kStreams = 2;
  constexpr size_t kWorkspaceBytes = 24 << 20;
  Problem p(m, shape.n, shape.k);
  p.fill_random(33);
  p.upload();
  std::vector<uint16_t> x(static_cast<size_t>(m) * shape.k);
  std::mt19937 random(34);
  std::normal_distribution<float> normal(0, 3);
  for (uint16_t& v : x) v = float_to_bf16(normal(random));
  const DeviceBuffer<uint16_t> device_x(x);
  const DeviceBuffer<uint16_t> want(static_cast<size_t>(m) * p.ldd());
  DeviceBuffer<unsigned long long> different(1);
  different.fill_bytes(0);
  DeviceBuffer<uint32_t> scratch(64 << 20);
  cudaStream_t streams[kStreams], load_stream;
  HOTPROOF_CHECK(cudaStreamCreateWithFlags(&load_stream, cudaStreamNonBlocking));
  std::vector<DeviceBuffer<uint8_t>> workspaces;
  std::vector<DeviceBuffer<uint16_t>> outputs;
  for (cudaStream_t& stream : streams) {
    HOTPROOF_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    workspaces.emplace_back(kWorkspaceBytes);
    outputs.emplace_back(want.size());
    HOTPROOF_CHECK(
        hotproof_fp8_gemm_init_workspace(workspaces.back().get(), kWorkspaceBytes, stream));
  }
  const auto args_on = [&](int s, uint16_t* d) {
    hotproof_fp8_gemm_args args = p.args(m);
    if (quantise) {
      args.a = device_x.get();
      args.lda = shape.k;
    }
    args.workspace = workspaces[s].get();
    args.workspace_bytes = workspaces[s].size();
    args.d = d;
    return args;
  };
  HOTPROOF_CHECK(launch(args_on(0, want.get()), streams[0], quantise, tuning, Mutation::kNone));
  HOTPROOF_CHECK(cudaDeviceSynchronize());
  const auto enqueue = [&](int s) {
    HOTPROOF_CHECK(cudaMemsetAsync(outputs[s].get(), 0xff, outputs[s].size() * 2, streams[s]));
    HOTPROOF_CHECK(cudaMemsetAsync(workspaces[s].get() + kControlBytes, 0xff,
                                   workspaces[s].size() - kControlBytes, streams[s]));
    HOTPROOF_CHECK(
        launch(args_on(s, outputs[s].get()), streams[s], quantise, tuning, Mutation::kNone));
    count_different(outputs[s].get(), want.get(), want.size(), different.get(), streams[s]);
  };
  std::vector<Graph> graphs;
  for (int s = 0; s < kStreams; ++s) {
    graphs.emplace_back(streams[s], [&] {
      for (int i = 0; i < 10; ++i) enqueue(s);
    });
  }
  int done = 0;
  for (int round = 0; done < runs; ++round) {
    enqueue_load(scratch.get(), scratch.size(), 40 + round % 3 * 40, 300, load_stream);
    for (int s = 0; s < kStreams; ++s) {
      if (round % 4 == 0) {
        enqueue(s);
        ++done;
      } else {
        graphs[s].replay(streams[s]);
        done += 10;
      }
    }
    if (round % 64 == 63) HOTPROOF_CHECK(cudaDeviceSynchronize());
  }
  HOTPROOF_CHECK(cudaDeviceSynchronize());
  const unsigned long long count = different.download()[0];
  bool zero = true;
  for (const auto& workspace : workspaces) {
    std::vector<uint8_t> control(kControlBytes);
    HOTPROOF_CHECK(
        cudaMemcpy(control.data(), workspace.get(), kControlBytes, cudaMemcpyDeviceToHost));
    zero &= std::all_of(control.begin(), control.end(), [](uint8_t b) { return b == 0; });
  }
  report(
      "determinism under load, " + std::string(shape.name) +
          (tuning.shared == 1 ? ", shared tiles" : "") + (quantise ? ", bf16 A" : "") +
          ", M = " + std::to_string(m) + ", " + std::to_string(done) + " runs on 2 streams",
      count == 0 && zero,
      count ? std::to_string(count) + " words differ" : (zero ? "" : "control bytes are not zero"));
  for (cudaStream_t stream : streams) cudaStreamDestroy(stream);
  cudaStreamDestroy(load_stream);
}

// A chain of programmatic launches with nothing between them, as in a model: quantise, GEMMs of
// both entry points that read what was just quantised, one workspace. Every D is what its GEMM
// alone gives, and GEMMs that don't wait for the kernel before give something else.
void check_back_to_back() {
  constexpr int kM = 8, kSteps = 20;
  const Shape shapes[] = {kShapes[kDown], kShapes[kAttnOut], {"", 17000, 1280}};
  for (const Shape& shape : shapes) {
    Problem p(kM, shape.n, shape.k);
    p.fill_random(41);
    p.upload();
    std::mt19937 random(42);
    std::normal_distribution<float> normal(0, 3);
    std::vector<DeviceBuffer<uint16_t>> x, d, alone;
    std::vector<uint16_t> values(static_cast<size_t>(kM) * shape.k);
    for (int i = 0; i < 2; ++i) {
      for (uint16_t& v : values) v = float_to_bf16(normal(random));
      x.emplace_back(values);
      alone.emplace_back(static_cast<size_t>(kM) * shape.n);
    }
    for (int i = 0; i < 2 * kSteps; ++i) d.emplace_back(static_cast<size_t>(kM) * shape.n);
    const DeviceBuffer<uint8_t> q(values.size());
    const DeviceBuffer<float> scale(static_cast<size_t>(kM) * p.k_blocks());
    const DeviceBuffer<uint8_t> workspace(24 << 20);
    DeviceBuffer<unsigned long long> different(1);
    cudaStream_t stream;
    HOTPROOF_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    HOTPROOF_CHECK(hotproof_fp8_gemm_init_workspace(workspace.get(), workspace.size(), stream));
    const auto step = [&](int i, uint16_t* apart, uint16_t* fused, const Tuning& tuning) {
      HOTPROOF_CHECK(hotproof_quantize_1x128(kM, shape.k, x[i].get(), shape.k, q.get(), shape.k,
                                             scale.get(), p.k_blocks(), 1, 0, stream));
      hotproof_fp8_gemm_args args = p.args(kM);
      args.a = q.get();
      args.lda = shape.k;
      args.a_scale = scale.get();
      args.a_scale_stride_m = p.k_blocks();
      args.a_scale_stride_k = 1;
      args.ldd = shape.n;
      args.workspace = workspace.get();
      args.workspace_bytes = workspace.size();
      args.d = apart;
      HOTPROOF_CHECK(launch(args, stream, false, tuning, Mutation::kNone));
      args.a = x[i].get();
      args.d = fused;
      HOTPROOF_CHECK(launch(args, stream, true, tuning, Mutation::kNone));
    };
    for (int i = 0; i < 2; ++i) {
      step(i, alone[i].get(), d[0].get(), {});
      HOTPROOF_CHECK(cudaStreamSynchronize(stream));
    }
    const auto wrong = [&](const Tuning& tuning) {
      for (auto& out : d) out.fill_bytes(0xff);
      different.fill_bytes(0);
      HOTPROOF_CHECK(cudaDeviceSynchronize());
      const Graph graph(stream, [&] {
        for (int i = 0; i < kSteps; ++i) step(i % 2, d[2 * i].get(), d[2 * i + 1].get(), tuning);
      });
      for (int replay = 0; replay < 10; ++replay) graph.replay(stream);
      for (int i = 0; i < 2 * kSteps; ++i) {
        count_different(d[i].get(), alone[i / 2 % 2].get(), d[i].size(), different.get(), stream);
      }
      HOTPROOF_CHECK(cudaStreamSynchronize(stream));
      return different.download()[0];
    };
    const std::string name = std::to_string(shape.n) + "x" + std::to_string(shape.k);
    const unsigned long long count = wrong({});
    std::vector<uint8_t> control(kControlBytes);
    HOTPROOF_CHECK(
        cudaMemcpy(control.data(), workspace.get(), kControlBytes, cudaMemcpyDeviceToHost));
    const bool zero = std::all_of(control.begin(), control.end(), [](uint8_t b) { return !b; });
    report("a chain of programmatic launches, " + name, count == 0 && zero,
           count  ? std::to_string(count) + " words differ"
           : zero ? ""
                  : "control bytes are not 0");
    Tuning never_wait;
    never_wait.never_wait = true;
    report("without waiting it is wrong, " + name, wrong(never_wait) > 0);
    cudaStreamDestroy(stream);
  }
}

// How A's scales are laid out and fetched, and how deep stages and rings are, change no bit; nor
// does which of the two kernels computes a row.
void check_many_tokens() {
  Tuning one_block, two_blocks, shallow;
  one_block.stage_blocks = 1;
  two_blocks.stage_blocks = 2;
  shallow.stages = 2;
  shallow.token_stages = 3;
  const int shapes[][2] = {{1024, 2176}, {1000, 1040}, {5120, 6144}, {2056, 3216},
                           {7000, 2000}, {14336, 784}, {34816, 656}};
  for (const auto& shape : shapes) {
    Problem k_major(128, shape[0], shape[1]), m_major(128, shape[0], shape[1], {0, 0, 0, true});
    for (Problem* p : {&k_major, &m_major}) {
      p->fill_random(shape[0]);
      for (int m = 0; m < 128; ++m) {
        for (int b = 0; b < p->k_blocks(); ++b) p->a_scale_at(m, b) = k_major.a_scale_at(m, b);
      }
      p->upload();
    }
    const auto want = k_major.run(128);
    std::string where;
    int runs = 0;
    for (Problem* p : {&k_major, &m_major}) {
      for (int m : {32, 33, 36, 64, 65, 68, 98, 100, 127, 128}) {
        for (const Tuning& tuning : {Tuning(), one_block, two_blocks, shallow}) {
          ++runs;
          if (same_rows(*p, want, p->run(m, tuning), m)) continue;
          where += "M = " + std::to_string(m) + (p == &m_major ? ", M-major; " : "; ");
        }
      }
    }
    report("layouts of scales and depths of stages, " + std::to_string(shape[0]) + "x" +
               std::to_string(shape[1]) + ", M = 32..128, " + std::to_string(runs) + " runs",
           where.empty(), where);
  }
}

void check_full_shapes(CublasLt* cublaslt) {
  for (const Shape& shape : kShapes) {
    const std::string name =
        std::string(shape.name) + " " + std::to_string(shape.n) + "x" + std::to_string(shape.k);
    Layout layout;
    layout.a_scale_m_major = true;
    Problem p(128, shape.n, shape.k, layout);
    p.fill_random(shape.n);
    p.upload();
    const Reference reference = compute(p.host(128), sample_columns(shape.n));
    const auto all = p.run(128);
    const Mismatch mismatch = compare(reference, p.host(128), all.data(), p.ldd());
    report("per-element bound, " + name + ", M = 128, " + std::to_string(reference.columns.size()) +
               " columns",
           mismatch.count == 0, text(mismatch));
    bool same = true;
    for (int m : {1, 2, 4, 8, 13, 16, 32, 64}) same &= same_rows(p, all, p.run(m), m);
    report("batch invariance, " + name + ", M = 1..128, all columns", same);
    if (cublaslt == nullptr || cublaslt->prepare(128, shape.n, shape.k) == 0) continue;
    const hotproof_fp8_gemm_args args = p.args(128);
    if (cublaslt->enqueue(
            {128, shape.n, shape.k, args.a, args.a_scale, args.b, args.b_scale, args.d}, 0,
            nullptr)) {
      std::vector<uint16_t> theirs(all.size());
      HOTPROOF_CHECK(cudaMemcpy(theirs.data(), args.d, theirs.size() * 2, cudaMemcpyDeviceToHost));
      const Mismatch baseline = compare(reference, p.host(128), theirs.data(), p.ldd());
      std::printf("note cuBLASLt on the same data, %s: %s\n", name.c_str(), text(baseline).c_str());
    }
  }
}

}  // namespace hotproof::kernel::bench
