#include "cli/assert_options.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "catalog/kernel_class.h"
#include "cli/option_checks.h"

namespace hotproof::cli {

void AddAssertOptions(CLI::App& command, AssertOptions& options) {
  command
      .add_option("path", options.paths, "Trace files (.hpt) or folders that hotproof run wrote")
      ->required()
      ->type_name("DIR|FILE");
  command
      .add_option("--expect", options.expect_file,
                  "Expectations in a file (proto/expectations.proto)")
      ->type_name("F.textproto")
      ->check(NotEmpty());
  command.add_option("--rules", options.rules, "Rules of your own, tried first (textproto)")
      ->type_name("F.textproto")
      ->check(NotEmpty());
  const char* const selection = "Which launches";
  command
      .add_option("--kernel", options.kernel,
                  "RE2 pattern, anywhere in the mangled or demangled name")
      ->type_name("RE2")
      ->check(NotEmpty())
      ->group(selection);
  command
      .add_option("--path", options.path, "GEMM launches of this path, e.g. cutlass_vllm, custom")
      ->type_name("P")
      ->check(NotEmpty())
      ->group(selection);
  command.add_option("--shape", options.shape, "GEMM launches with this N and K, e.g. 34816x5120")
      ->type_name("NxK")
      ->check(NotEmpty())
      ->group(selection);
  command
      .add_option("--kind", options.kind,
                  "Launches of this kind, or any; default: gemm with --path or --shape, "
                  "without --kernel")
      ->check(NotEmpty())
      ->group(selection);
  command
      .add_option("--range", options.range,
                  "Launches in these named ranges: RE2 pattern, anywhere in e.g. "
                  "model.layers.3/mlp")
      ->type_name("RE2")
      ->check(NotEmpty())
      ->group(selection);
  command
      .add_option("--cubin-of", options.cubin_of,
                  "Launches of the kernels that this library, program or cubin embeds, "
                  "by the hash of the cubin that was loaded")
      ->type_name("FILE")
      ->check(NotEmpty())
      ->group(selection);
  const char* const bounds = "What is expected of them";
  command.add_option("--launches", options.launches, "Exactly so many")
      ->transform(WholeNumber())
      ->group(bounds);
  command.add_option("--min-launches", options.min_launches, "At least so many")
      ->transform(WholeNumber())
      ->group(bounds);
  command.add_option("--max-launches", options.max_launches, "At most so many; 0: never")
      ->transform(WholeNumber())
      ->group(bounds);
  command
      .add_option(
          "--launches-per-replay", options.per_replay,
          "Exactly so many in each replay of each graph that launches a GEMM or one of them")
      ->transform(WholeNumber())
      ->group(bounds);
  command
      .add_option("--share", options.share,
                  "Their share of the launches of the shape's GEMMs, e.g. '>=0.99'")
      ->check(NotEmpty())
      ->group(bounds);
  command
      .add_option("--time-share", options.time_share, "Their share of all GPU time, e.g. '>=0.5'")
      ->check(NotEmpty())
      ->group(bounds);
  command
      .add_option("--processes", options.processes,
                  "every process that launched a kernel (default), any one of them, or their sum")
      ->check(CLI::IsMember({"every", "any", "sum"}));
  command
      .add_option("--expect-processes", options.expect_processes,
                  "Exactly so many processes launched a kernel")
      ->transform(WholeNumber(UINT32_MAX));
  command
      .add_option("--phase", options.phase, "steady (default): after warm-up; all: the whole run")
      ->check(CLI::IsMember({"steady", "all"}));
  command.add_option("--junit", options.junit_file, "Also write the result as JUnit XML")
      ->type_name("F")
      ->check(NotEmpty());
  command.add_option("--format", options.format, "How to print the result")
      ->check(CLI::IsMember({"text", "json", "github"}))
      ->capture_default_str();
  command.footer(
      absl::StrCat("Paths: ", absl::StrJoin(catalog::PathNames(), " "), "\n",
                   "Kinds: ", absl::StrJoin(catalog::KindNames(), " "), " any\n",
                   "Exit code: 0 PASS, 1 FAIL, 3 INCONCLUSIVE, 2 bad usage or unreadable input."));
}

}  // namespace hotproof::cli
