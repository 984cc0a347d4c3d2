#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "kernel/bench/check_tools.h"
#include "kernel/bench/checks.h"
#include "kernel/bench/problem.h"

namespace hotproof::kernel::bench {
namespace {

void check_small_shapes() {
  const int shapes[][2] = {{128, 128}, {256, 1024}, {384, 640},   {1024, 2176},
                           {136, 144}, {8, 16},     {1000, 1040}, {17408, 256}};
  for (const auto& shape : shapes) {
    const std::string name = std::to_string(shape[0]) + "x" + std::to_string(shape[1]);
    Layout layout;
    layout.a_extra_rows = 3;
    layout.lda_extra = 32;
    layout.ldd_extra = 6;
    layout.a_scale_m_major = shape[0] % 256 == 0;
    Problem p(128, shape[0], shape[1], layout);
    p.fill_random(shape[0] + shape[1]);
    p.upload();
    const auto all = p.run(128);
    // Not of millions of elements: the tensor core aligns products, and a few exceed the bound.
    if (shape[0] < 10000) {
      const Mismatch mismatch = compare(compute(p.host(128)), p.host(128), all.data(), p.ldd());
      report("per-element bound, " + name + ", M = 128, padded and strided", mismatch.count == 0,
             text(mismatch));
    }
    bool same = true;
    std::string where;
    for (int m = 1; m <= 128 && same; ++m) {
      same = same_rows(p, all, p.run(m), m);
      if (!same) where = "M = " + std::to_string(m);
    }
    report("batch invariance and padding, " + name + ", M = 1..128", same, where);

    p.fill_integers(7);
    p.upload();
    const Reference exact = compute(p.host(128));
    for (int m : {1, 8, 16, 32, 64, 128}) {
      const auto d = p.run(m);
      const Mismatch wrong = compare_exact(exact, p.host(m), d.data(), p.ldd());
      if (wrong.count > 0 || m == 128) {
        report("integers are bit-exact, " + name + ", M = 1 to " + std::to_string(m),
               wrong.count == 0, wrong.count ? text(wrong) : "");
      }
    }
  }
}

// Bytes from all of e4m3's binades at once are harder than the bound was made for: a block's sum is
// then about its largest product, against which the tensor core cuts off the others at about 13
// bits. The same is true of cuBLASLt; both must stay within 4 times the bound.
void check_any_bytes(CublasLt* cublaslt) {
  Problem p(128, 1024, 2048, {0, 0, 0, true});
  p.fill_bytes(4);
  p.upload();
  const Reference reference = compute(p.host(128));
  const auto d = p.run(128);
  const Mismatch ours = compare(reference, p.host(128), d.data(), p.ldd());
  report("bytes of all binades, within 4 times the bound", ours.worst_ratio <= 4, text(ours));
  const hotproof_fp8_gemm_args args = p.args(128);
  if (cublaslt != nullptr && cublaslt->prepare(128, p.n, p.k) > 0 &&
      cublaslt->enqueue({128, p.n, p.k, args.a, args.a_scale, args.b, args.b_scale, args.d}, 0,
                        nullptr)) {
    std::vector<uint16_t> theirs(d.size());
    HOTPROOF_CHECK(cudaMemcpy(theirs.data(), args.d, theirs.size() * 2, cudaMemcpyDeviceToHost));
    std::printf("note cuBLASLt on the same bytes: %s\n",
                text(compare(reference, p.host(128), theirs.data(), p.ldd())).c_str());
  }
}

// How rows are cut into tiles, who computes them, ring depth and window change no bit.
void check_decompositions() {
  Problem p(32, 1024, 2944);  // cut at multiples of 4 K blocks, the last stage of 4 isn't full
  p.fill_random(11);
  p.upload();
  const Reference reference = compute(p.host(32));
  const auto want = p.run(32);
  const Mismatch mismatch = compare(reference, p.host(32), want.data(), p.ldd());
  bool good = mismatch.count == 0;
  std::string detail = good ? "" : text(mismatch) + "; ";
  for (const int m : {8, 16, 32}) {
    for (const int tile_groups : {1, 2, 3, 5, 8, 9, 11, 14, 16}) {
      for (const bool shared : {false, true}) {
        for (const int stage_blocks : {1, 2, 4}) {
          Tuning t = with_tile(tile_groups, shared);
          t.stage_blocks = stage_blocks;
          Tuning shallow = t;
          shallow.stages = 2;
          shallow.token_stages = 3;
          Tuning narrow = t;
          narrow.window_kib = 1;
          for (const Tuning& tuning : {t, shallow, narrow}) {
            Plan plan;
            if (make_plan(m, p.n, p.k, false, tuning, &plan) != HOTPROOF_OK) continue;
            if (plan.ring.stage_blocks != stage_blocks && m <= 16) {
              good = false;
              detail += "stages of " + std::to_string(plan.ring.stage_blocks) + " blocks; ";
            }
            if (same_rows(p, want, p.run(m, tuning), m)) continue;
            good = false;
            detail += "M " + std::to_string(m) + ", " + std::to_string(tile_groups) + " groups" +
                      (shared ? ", shared, " : ", ") + std::to_string(stage_blocks) +
                      " blocks: bits differ; ";
          }
        }
      }
    }
  }
  report("every decomposition and ring depth gives the same bits", good, detail);
}

void check_special_values() {
  Problem p(16, 384, 1024);
  p.fill_random(5);
  p.a_at(3, 130) = 0x7f;                               // NaN in A
  p.b[static_cast<size_t>(200) * p.lda() + 7] = 0xff;  // NaN in B
  p.a_scale_at(5, 2) = std::numeric_limits<float>::infinity();
  p.a_scale_at(6, 0) = std::numeric_limits<float>::quiet_NaN();
  for (int kb = 0; kb < 8; ++kb) p.a_scale_at(7, kb) = 0.0f;
  for (int kb = 0; kb < 8; ++kb) p.a_scale_at(8, kb) = 1e-40f;  // denormal
  p.a_scale_at(9, 1) = 3e38f;
  p.upload();
  const Reference reference = compute(p.host(16));
  for (const bool shared : {false, true}) {
    const auto d = p.run(16, with_tile(0, shared));
    const Mismatch mismatch = compare(reference, p.host(16), d.data(), p.ldd());
    report("NaN, inf, zero, denormal and huge scales, " +
               std::string(shared ? "shared tiles" : "one CTA a tile"),
           mismatch.count == 0, text(mismatch));
  }
}

void check_refusals() {
  Problem p(8, 256, 256);
  p.fill_random(1);
  p.upload();
  const auto status = [&](auto change) {
    hotproof_fp8_gemm_args args = p.args(8);
    change(args);
    return hotproof_fp8_gemm(&args, nullptr);
  };
  using Args = hotproof_fp8_gemm_args;
  bool good = status([](Args& a) { a.m = 0; }) == HOTPROOF_INVALID_ARGUMENT;
  good &= status([](Args& a) { a.m = 129; }) == HOTPROOF_UNSUPPORTED_SHAPE;
  good &= status([](Args& a) { a.n = 252; }) == HOTPROOF_UNSUPPORTED_SHAPE;
  good &= status([](Args& a) { a.k = 250; }) == HOTPROOF_UNSUPPORTED_SHAPE;
  good &= status([](Args& a) { a.a = nullptr; }) == HOTPROOF_INVALID_ARGUMENT;
  good &= status([](Args& a) { a.lda = 240; }) == HOTPROOF_INVALID_ARGUMENT;
  good &= status([](Args& a) { a.ldb = 264; }) == HOTPROOF_INVALID_ARGUMENT;
  good &= status([](Args& a) { a.ldd = 257; }) == HOTPROOF_INVALID_ARGUMENT;
  good &= status([](Args& a) { a.b = static_cast<const uint8_t*>(a.b) + 8; }) ==
          HOTPROOF_INVALID_ARGUMENT;
  good &= hotproof_fp8_gemm(nullptr, nullptr) == HOTPROOF_INVALID_ARGUMENT;
  hotproof_fp8_gemm_args wide = p.args(8);
  wide.m = 33;
  good &= hotproof_fp8_gemm_bf16(&wide, nullptr) == HOTPROOF_UNSUPPORTED_SHAPE;
  // CTAs share tiles, and no workspace is given.
  Problem deep(32, 256, 1024);
  deep.fill_random(1);
  deep.upload();
  hotproof_fp8_gemm_args none = deep.args(32);
  none.workspace = nullptr;
  good &= hotproof_fp8_gemm(&none, nullptr) == HOTPROOF_WORKSPACE_TOO_SMALL;
  report("bad arguments are refused", good && cudaGetLastError() == cudaSuccess);
}

void check_mutations() {
#ifdef HOTPROOF_MUTATIONS
  struct Case {
    const char* name;
    Mutation mutation;
  };
  const Case cases[] = {{"a dropped K block", Mutation::kDropKBlock},
                        {"swapped scale axes", Mutation::kSwapScaleAxes},
                        {"an off-by-one tile", Mutation::kOffByOneTile},
                        {"a stale workspace", Mutation::kStaleWorkspace},
                        {"one block's scale off by 2", Mutation::kScaleTwice}};
  Problem p(8, 640, 1536);
  for (const Case& c : cases) {
    p.fill_random(21);
    p.upload();
    const Reference reference = compute(p.host(8));
    const auto good = p.run(8, with_tile(16, true));
    const auto bad = p.run(8, with_tile(16, true), c.mutation);
    const int64_t sane = compare(reference, p.host(8), good.data(), p.ldd()).count;
    const int64_t caught = compare(reference, p.host(8), bad.data(), p.ldd()).count;
    report(std::string("the bound catches ") + c.name, sane == 0 && caught > 0,
           std::to_string(caught) + " elements");
  }
#else
  report("mutations are compiled in", false);
#endif
}

void check_quantisation(int n, int k) {
  constexpr int kM = 32;
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 3);
  std::vector<uint16_t> x(static_cast<size_t>(kM) * k);
  for (uint16_t& v : x) v = float_to_bf16(normal(random));
  for (int i = 0; i < 128; ++i) x[2 * k + 256 + i] = 0;  // a group of zeros
  x[4 * k + 5] = 0x7fc0;                                 // NaN
  Problem p(kM, n, k);
  p.fill_random(9);
  p.upload();
  const DeviceBuffer<uint16_t> device_x(x);
  DeviceBuffer<uint8_t> q(static_cast<size_t>(kM) * k);
  DeviceBuffer<float> scale(static_cast<size_t>(kM) * p.k_blocks());
  DeviceBuffer<uint16_t> d(static_cast<size_t>(kM) * n);
  for (uint32_t flags : {0u, HOTPROOF_POWER_OF_TWO_SCALES}) {
    const char* kind = flags ? ", power-of-two scales" : "";
    HOTPROOF_CHECK(hotproof_quantize_1x128(kM, k, device_x.get(), k, q.get(), k, scale.get(),
                                           p.k_blocks(), 1, flags, nullptr));
    HOTPROOF_CHECK(cudaDeviceSynchronize());
    const auto got_q = q.download();
    const auto got_scale = scale.download();
    int64_t wrong = 0;
    for (int m = 0; m < kM; ++m) {
      for (int kb = 0; kb < p.k_blocks(); ++kb) {
        float amax = 0;
        const int end = std::min(k, kb * 128 + 128);
        for (int i = kb * 128; i < end; ++i)
          amax = std::fmax(amax, std::fabs(bf16_to_float(x[m * k + i])));
        const float s = quantisation_scale(amax, flags != 0);
        wrong += got_scale[m * p.k_blocks() + kb] != s;
        for (int i = kb * 128; i < end; ++i) {
          wrong += got_q[m * k + i] != float_to_e4m3(bf16_to_float(x[m * k + i]) * (1.0f / s));
        }
      }
    }
    const std::string which = " for " + std::to_string(n) + "x" + std::to_string(k) + kind;
    report("quantisation equals the CPU's" + which, wrong == 0,
           wrong ? std::to_string(wrong) + " differ" : "");
    bool same = true;
    std::string where;
    for (int m : {1, 5, 8, 11, 16, 27, 32}) {
      for (const Tuning& tuning : {Tuning(), with_tile(5), with_tile(9), with_tile(9, true)}) {
        hotproof_fp8_gemm_args args = p.args(m);
        args.a = q.get();
        args.lda = k;
        args.a_scale = scale.get();
        args.d = d.get();
        args.ldd = n;
        args.flags = flags;
        HOTPROOF_CHECK(cudaMemset(d.get(), 0xff, d.size() * 2));
        HOTPROOF_CHECK(launch(args, nullptr, false, tuning, Mutation::kNone));
        const auto apart = d.download();
        args.a = device_x.get();
        args.a_scale = nullptr;
        HOTPROOF_CHECK(cudaMemset(d.get(), 0xff, d.size() * 2));
        HOTPROOF_CHECK(launch(args, nullptr, true, tuning, Mutation::kNone));
        if (d.download() != apart) {
          same = false;
          where +=
              "M = " + std::to_string(m) + ", " + std::to_string(tuning.tile_groups) + " groups; ";
        }
      }
    }
    Plan plan;
    HOTPROOF_CHECK(make_plan(8, n, k, true, {}, &plan));
    same &= plan.work.shared || plan.ring.tokens_stay;  // or this shows less than it says
    report("the fused GEMM gives quantise + GEMM's bits" + which, same, where);
  }
}

// Weights written by a kernel that lets its dependents start first: HOTPROOF_WEIGHTS_MAY_CHANGE
// makes that safe, and nothing else.
void check_changing_weights() {
  Problem p(8, 5120, 6144);
  p.fill_random(2);
  p.upload();
  const DeviceBuffer<uint8_t> source(p.b);
  const DeviceBuffer<uint16_t> x(std::vector<uint16_t>(8 * 6144, float_to_bf16(1.5f)));
  for (const bool quantise : {false, true}) {
    hotproof_fp8_gemm_args args = p.args(8);
    if (quantise) args.a = x.get(), args.lda = p.k;
    uint8_t* b = static_cast<uint8_t*>(const_cast<void*>(args.b));
    const auto after_copy = [&](uint32_t flags) {
      args.flags = flags;
      HOTPROOF_CHECK(cudaMemset(b, 0, p.b.size()));
      enqueue_late_copy(b, source.get(), p.b.size(), nullptr);
      HOTPROOF_CHECK(launch(args, nullptr, quantise, {}, Mutation::kNone));
      std::vector<uint16_t> got(static_cast<size_t>(8) * p.n);
      HOTPROOF_CHECK(cudaMemcpy(got.data(), args.d, got.size() * 2, cudaMemcpyDeviceToHost));
      return got;
    };
    HOTPROOF_CHECK(cudaMemcpy(b, source.get(), p.b.size(), cudaMemcpyDeviceToDevice));
    HOTPROOF_CHECK(launch(args, nullptr, quantise, {}, Mutation::kNone));
    std::vector<uint16_t> want(static_cast<size_t>(8) * p.n);
    HOTPROOF_CHECK(cudaMemcpy(want.data(), args.d, want.size() * 2, cudaMemcpyDeviceToHost));
    bool same = true;
    for (int i = 0; i < 20; ++i) same &= after_copy(HOTPROOF_WEIGHTS_MAY_CHANGE) == want;
    const std::string kind = quantise ? ", bf16 A" : "";
    report("weights written just before, with the flag" + kind, same);
    report("without the flag they are read too early" + kind, after_copy(0) != want);
  }
}

}  // namespace

int run_tiny() {
  check_failures = 0;
  Problem p(128, 384, 1024);
  p.fill_random(6);
  p.upload();
  const Reference reference = compute(p.host(128));
  for (int m : {5, 8, 16, 32, 64, 128}) {
    for (const Tuning& tuning : {with_tile(9, true), Tuning()}) {
      const auto d = p.run(m, tuning);
      const Mismatch mismatch = compare(reference, p.host(m), d.data(), p.ldd());
      if (mismatch.count > 0) report("M = " + std::to_string(m), false, text(mismatch));
    }
  }
  // Several tiles a CTA. (With a bf16 A, which stays, synccheck stops at arrivals that nobody waits
  // for: docs/FP8_GEMM.md.)
  Problem several(8, 2176, 512);
  several.fill_random(7);
  several.upload();
  const auto d = several.run(8, with_tile(1));
  const Mismatch mismatch =
      compare(compute(several.host(8)), several.host(8), d.data(), several.ldd());
  if (mismatch.count > 0) report("several tiles a CTA", false, text(mismatch));
  const DeviceBuffer<uint16_t> x(std::vector<uint16_t>(8 * 1024, float_to_bf16(1.5f)));
  hotproof_fp8_gemm_args args = p.args(8);
  args.a = x.get();
  args.lda = 1024;
  HOTPROOF_CHECK(hotproof_fp8_gemm_bf16(&args, nullptr));
  HOTPROOF_CHECK(cudaDeviceSynchronize());
  std::printf("%d checks failed\n", check_failures);
  return check_failures;
}

int run_checks(const CheckOptions& options) {
  check_failures = 0;
  check_refusals();
  check_small_shapes();
  check_any_bytes(options.cublaslt);
  check_decompositions();
  check_special_values();
  check_mutations();
  check_quantisation(640, 1296);    // CTAs share tiles
  check_quantisation(17000, 1280);  // tokens stay for a second tile
  check_changing_weights();
  check_back_to_back();
  check_many_tokens();
  if (options.full_shapes) check_full_shapes(options.cublaslt);
  if (options.determinism_runs > 0) {
    // CTAs share tiles: down's at every M, the attention output's to M = 64.
    const Shape &attn_out = kShapes[kAttnOut], &down = kShapes[kDown];
    for (int m : {8, 16, 64, 128}) {
      check_determinism(options.determinism_runs, attn_out, m, {}, false);
      check_determinism(options.determinism_runs, down, m, {}, false);
    }
    check_determinism(options.determinism_runs, kShapes[kGateUp], 8, {}, true);
    for (const Shape* shape : {&attn_out, &down})
      check_determinism(options.determinism_runs, *shape, 8, {}, true);
  }
  if (take_launch_count() >= 0) {
    Problem p(8, 256, 256);
    p.fill_random(1);
    p.upload();
    take_launch_count();
    for (int i = 0; i < 5; ++i) p.run(8);
    const int64_t counted = take_launch_count();
    report("launches counted on the device", counted == 5, std::to_string(counted) + " of 5");
  }
  std::printf("%d checks failed\n", check_failures);
  return check_failures;
}

}  // namespace hotproof::kernel::bench
