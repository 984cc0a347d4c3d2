// fp8_gemm_bench: checks the FP8 GEMM on the GPU it finds, then times it beside its baselines.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "kernel/bench/checks.h"
#include "kernel/bench/timing.h"

namespace hotproof::kernel::bench {
namespace {

constexpr char kUsage[] =
    "fp8_gemm_bench: checks the FP8 block-scaled GEMM, then times it beside its baselines\n"
    "  --parts P        comma list of check,shapes,forward,sandwich,sweep,reads,timeline,once,\n"
    "                   tiny (default: check,shapes,forward,sandwich)\n"
    "  --shapes S       comma list of gate_up,down,attn_out,lin_in,qkv (default: all)\n"
    "  --m M            comma list of rows, 1..128 (default: 1,2,4,8,16,32,64,128)\n"
    "  --forward-m M    rows for forward and sandwich (default: 8)\n"
    "  --baseline B     comma list of roof,cublaslt, or none (default: roof,cublaslt)\n"
    "  --replays R      graph replays per number (default: 200)\n"
    "  --determinism R  runs of the determinism check (default: 10000)\n"
    "  --weights W      of the timed GEMMs: normal (default; as models have them), random "
    "(bytes),\n"
    "                   zero\n"
    "  --pause MS       idle before every replay: the GPU stays below its power limit\n"
    "  --quick          skip the five full-size shapes in the check\n"
    "  --layers L       layers of weights, 4..64 (default: 64, needs 26 GB)\n"
    "  --tuning SHAPE:KEY=N,...  override the library's choice for a shape: groups, blocks,\n"
    "                   stages, ring, window (KiB), tokens, shared; may be repeated\n"
    "  --cublaslt PATH  libcublasLt.so.13 to open\n"
    "  --json FILE      write all numbers\n"
    "Exit: 0 all checks held, 1 a check failed or CUDA did, 2 usage.\n";

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> out;
  std::stringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');) out.push_back(item);
  return out;
}

struct Options {
  std::set<std::string> parts = {"check", "shapes", "forward", "sandwich"};
  std::vector<ShapeId> shapes = {kGateUp, kDown, kAttnOut, kLinIn, kQkv};
  std::vector<int> ms = {1, 2, 4, 8, 16, 32, 64, 128};
  std::vector<int> forward_ms = {8};
  std::set<std::string> baselines = {"roof", "cublaslt"};
  int replays = 200, determinism = 10000, layers = 64;
  int pause_ms = 0;
  Values weights = Values::kNormal;
  bool quick = false;
  Tuning tuning[kShapeCount] = {};
  std::string cublaslt, json;
};

bool parse_rows(const std::string& list, std::vector<int>* rows) {
  rows->clear();
  for (const std::string& item : split(list)) {
    const int m = std::atoi(item.c_str());
    if (m < 1 || m > kMaxM) return false;
    rows->push_back(m);
  }
  return !rows->empty();
}

bool parse_shapes(const std::string& list, std::vector<ShapeId>* shapes) {
  shapes->clear();
  for (const std::string& item : split(list)) {
    int found = -1;
    for (int s = 0; s < kShapeCount; ++s) {
      if (item == kShapes[s].name) found = s;
    }
    if (found < 0) return false;
    shapes->push_back(static_cast<ShapeId>(found));
  }
  return !shapes->empty();
}

bool parse_set(const std::string& list, const std::set<std::string>& known,
               std::set<std::string>* out) {
  out->clear();
  for (const std::string& item : split(list)) {
    if (item == "none") continue;
    if (!known.count(item)) return false;
    out->insert(item);
  }
  return true;
}

bool parse_number(const std::string& text, int low, int high, int* number) {
  *number = std::atoi(text.c_str());
  return *number >= low && *number <= high;
}

// SHAPE:KEY=N,KEY=N
bool parse_tuning(const std::string& text, Tuning* tunings) {
  const size_t colon = text.find(':');
  std::vector<ShapeId> shapes;
  if (colon == std::string::npos || !parse_shapes(text.substr(0, colon), &shapes)) return false;
  for (const std::string& item : split(text.substr(colon + 1))) {
    const size_t equal = item.find('=');
    if (equal == std::string::npos) return false;
    const std::string key = item.substr(0, equal);
    const int value = std::atoi(item.c_str() + equal + 1);
    for (ShapeId shape : shapes) {
      Tuning& t = tunings[shape];
      if (key == "groups") {
        t.tile_groups = value;
      } else if (key == "blocks") {
        t.stage_blocks = value;
      } else if (key == "stages") {
        t.stages = value;
      } else if (key == "ring") {
        t.ring_kib = value;
      } else if (key == "window") {
        t.window_kib = value;
      } else if (key == "shared") {
        t.shared = value;
      } else if (key == "tokens") {
        t.token_stages = value;
      } else {
        return false;
      }
    }
  }
  return true;
}

bool parse(int argc, char** argv, Options* o) {
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--quick") {
      o->quick = true;
      continue;
    }
    if (i + 1 >= argc) return false;
    const std::string value = argv[++i];
    bool good = true;
    if (flag == "--parts") {
      good = parse_set(
          value,
          {"check", "shapes", "forward", "sandwich", "sweep", "reads", "timeline", "once", "tiny"},
          &o->parts);
    } else if (flag == "--shapes") {
      good = parse_shapes(value, &o->shapes);
    } else if (flag == "--m") {
      good = parse_rows(value, &o->ms);
    } else if (flag == "--forward-m") {
      good = parse_rows(value, &o->forward_ms);
    } else if (flag == "--baseline") {
      good = parse_set(value, {"roof", "cublaslt"}, &o->baselines);
    } else if (flag == "--replays") {
      good = parse_number(value, 1, 100000, &o->replays);
    } else if (flag == "--determinism") {
      good = parse_number(value, 0, 10000000, &o->determinism);
    } else if (flag == "--pause") {
      good = parse_number(value, 0, 10000, &o->pause_ms);
    } else if (flag == "--weights") {
      good = value == "normal" || value == "random" || value == "zero";
      o->weights = value == "random" ? Values::kRandom
                   : value == "zero" ? Values::kZero
                                     : Values::kNormal;
    } else if (flag == "--layers") {
      good = parse_number(value, 4, 64, &o->layers);
    } else if (flag == "--tuning") {
      good = parse_tuning(value, o->tuning);
    } else if (flag == "--cublaslt") {
      o->cublaslt = value;
    } else if (flag == "--json") {
      o->json = value;
    } else {
      good = false;
    }
    if (!good) return false;
  }
  return true;
}

int run(const Options& o, const std::string& command) {
  Plan plan;
  const hotproof_status status = make_plan(8, 5120, 5120, false, {}, &plan);
  if (status != HOTPROOF_OK) {
    std::fprintf(stderr, "fp8_gemm_bench: %s (%s)\n", hotproof_status_string(status),
                 cudaGetErrorString(static_cast<cudaError_t>(hotproof_last_cuda_error())));
    return 1;
  }
  std::string error;
  std::unique_ptr<CublasLt> cublaslt;
  if (o.baselines.count("cublaslt")) {
    cublaslt = CublasLt::open(o.cublaslt, &error);
    if (cublaslt == nullptr) std::printf("note cuBLASLt is not there: %s\n", error.c_str());
  }
  const size_t version = cublaslt ? cublaslt->version() : 0;

  int failed = 0;
  if (o.parts.count("check")) {
    CheckOptions checks;
    checks.determinism_runs = o.determinism;
    checks.full_shapes = !o.quick;
    checks.cublaslt = cublaslt.get();
    failed = run_checks(checks);
    if (failed > 0) {
      std::fprintf(stderr, "fp8_gemm_bench: %d checks failed, nothing timed\n", failed);
      return 1;
    }
  }
  if (o.parts.count("tiny") && run_tiny() > 0) return 1;
  Records records;
  ClockSummary clocks;
  if (o.parts.count("shapes") || o.parts.count("forward") || o.parts.count("sandwich") ||
      o.parts.count("sweep") || o.parts.count("reads") || o.parts.count("timeline") ||
      o.parts.count("once")) {
    cudaStream_t stream;
    HOTPROOF_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    Workload workload(o.layers, o.weights, stream);
    TimingContext context{workload, cublaslt.get(), o.baselines, o.replays, stream, records};
    context.pause_ms = o.pause_ms;
    std::copy(std::begin(o.tuning), std::end(o.tuning), std::begin(context.tuning));
    ClockSampler sampler;
    if (o.parts.count("reads")) sweep_reads(context, o.shapes);
    if (o.parts.count("once")) once(context, o.shapes, o.ms.front());
    if (o.parts.count("timeline")) show_timelines(context, o.shapes, o.ms.front());
    if (o.parts.count("sweep")) sweep(context, o.shapes, o.ms);
    if (o.parts.count("forward")) time_forward(context, o.forward_ms);
    if (o.parts.count("sandwich")) time_sandwich(context, o.forward_ms);
    if (o.parts.count("shapes")) time_shapes(context, o.shapes, o.ms);
    clocks = sampler.stop();
    std::printf(
        "clocks: %d samples, SM %u/%u/%u MHz (min/median/max), memory %u MHz, throttle reasons "
        "0x%llx, %.0f W and %u C at most\n",
        clocks.samples, clocks.sm_mhz_min, clocks.sm_mhz_median, clocks.sm_mhz_max,
        clocks.memory_mhz, clocks.throttle_reasons, clocks.power_w_max, clocks.temperature_c_max);
  }
  if (!o.json.empty()) {
    const char* problem = records.write_json(o.json, command, clocks, failed, version);
    if (problem != nullptr) {
      std::fprintf(stderr, "fp8_gemm_bench: %s: %s\n", problem, o.json.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace hotproof::kernel::bench

int main(int argc, char** argv) {
  using namespace hotproof::kernel::bench;
  Options options;
  if (!parse(argc, argv, &options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  std::string command = "fp8_gemm_bench";
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  return run(options, command);
}
