#include "cli/earlier_runs.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace hotproof::cli {
namespace {

// As far as a trace tells, in realtime.
struct Life {
  uint64_t begin_ns = 0, end_ns = 0;
  uint32_t pid = 0;
};

Life LifeOf(const analyzers::ProcessAnalysis& process) {
  const trace::Tables& tables = process.reader->tables();
  Life life{process.header().start_realtime_ns(), process.header().start_realtime_ns(),
            process.pid()};
  for (const trace::ClockPair& clock : tables.clocks)
    life.end_ns = std::max(life.end_ns, clock.realtime_ns());
  if (tables.has_footer) life.end_ns = std::max(life.end_ns, tables.footer.realtime_ns());
  return life;
}

bool Runs(const analyzers::ProcessAnalysis& process) {
  const auto& reasons = process.completeness.completeness.reasons();
  return std::any_of(reasons.begin(), reasons.end(),
                     [](const report::Reason& reason) { return reason.name() == "still_running"; });
}

}  // namespace

std::vector<report::Problem> RunsInOneFolder(
    const std::vector<analyzers::ProcessAnalysis>& processes) {
  std::map<std::string, std::vector<Life>> folders;
  for (const analyzers::ProcessAnalysis& process : processes) {
    Life life = LifeOf(process);
    if (life.begin_ns == 0) continue;  // its header is lost
    if (Runs(process)) life.end_ns = UINT64_MAX;
    folders[process.run].push_back(life);
  }
  std::vector<report::Problem> problems;
  for (auto& [folder, lives] : folders) {
    std::sort(lives.begin(), lives.end(),
              [](const Life& a, const Life& b) { return a.begin_ns < b.begin_ns; });
    const Life* last = nullptr;  // to end
    for (const Life& life : lives) {
      if (last != nullptr && life.begin_ns > last->end_ns) {
        report::Problem& problem = problems.emplace_back();
        problem.set_severity(report::Problem::INFO);
        problem.set_name(kRunsAdded);
        problem.set_pid(life.pid);
        problem.set_detail(absl::StrFormat(
            "it began %.0f s after the last that is seen of pid %d: if these are two "
            "runs in %s, they are added up",
            static_cast<double>(life.begin_ns - last->end_ns) / 1e9, last->pid, folder));
        problem.set_advice("give each run a folder of its own, or name the .hpt files of one");
        break;
      }
      if (last == nullptr || life.end_ns > last->end_ns) last = &life;
    }
  }
  return problems;
}

}  // namespace hotproof::cli
