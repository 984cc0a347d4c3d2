#include "cli/command_end.h"

#include <signal.h>

#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "analyzers/coverage.h"
#include "cli/manifest.h"

namespace hotproof::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kBySignal = 128;

bool IsUsual(int exit_code) {
  return exit_code == 0 || exit_code == kBySignal + SIGINT || exit_code == kBySignal + SIGTERM;
}

}  // namespace

std::vector<report::Problem> CommandsThatFailed(const std::vector<std::string>& paths) {
  std::vector<report::Problem> failed;
  std::set<fs::path> seen;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::path place = fs::canonical(path, error);
    const fs::path folder = fs::is_directory(place, error) ? place : place.parent_path();
    if (!seen.insert(folder).second || !fs::exists(folder / kManifestName, error)) continue;
    const auto manifest = analyzers::LoadManifest(folder / kManifestName);
    if (!manifest.ok() || !manifest->finished() || IsUsual(manifest->exit_code())) continue;
    const int signal = manifest->exit_code() - kBySignal;
    report::Problem& problem = failed.emplace_back();
    problem.set_severity(report::Problem::INFO);
    problem.set_name("command_failed");
    problem.set_detail(absl::StrCat("the command of ",
                                    paths.size() == 1 ? "this run" : folder.string(),
                                    " ended with exit code ", manifest->exit_code(),
                                    signal > 0 && signal <= SIGRTMAX ? absl::StrCat(" (signal ", signal, ")") : ""));
    problem.set_advice("see its output: what did not run for that cannot show here");
  }
  return failed;
}

}  // namespace hotproof::cli
