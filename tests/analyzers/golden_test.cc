// Each golden/NAME.textproto is a run; NAME.json and NAME.txt are its report as the program prints
// it.
// `--update` writes them anew (scripts/update_golden).
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "analyzers/report.h"
#include "cli/render/json.h"
#include "cli/render/table.h"
#include "tests/analyzers/fake_trace.h"

namespace hotproof::tests {
namespace {

bool update = false;

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void Compare(const std::filesystem::path& golden, const std::string& text) {
  if (update) {
    std::ofstream(golden) << text;
    return;
  }
  EXPECT_EQ(text, Read(golden)) << golden << " differs; if it should, run scripts/update_golden";
}

std::vector<std::filesystem::path> Runs() {
  std::vector<std::filesystem::path> runs;
  const std::filesystem::path folder = HOTPROOF_SOURCE_DIR "/tests/analyzers/golden";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".textproto") runs.push_back(entry.path());
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

class GoldenTest : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(GoldenTest, Report) {
  FakeRun run;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(Read(GetParam()), &run));
  const auto phase =
      run.phase() == "all" ? analyzers::PhaseChoice::kAll : analyzers::PhaseChoice::kSteady;
  const AnalysedRun analysed = Analyse(run);
  const report::Report report =
      analyzers::BuildReport(analysed.processes, analysed.coverage, phase);
  for (const report::Problem& problem : report.problems()) {
    EXPECT_NE(problem.name(), "sums_disagree") << problem.detail();
  }
  Compare(std::filesystem::path(GetParam()).replace_extension(".json"),
          cli::render::ToJson(report));
  Compare(std::filesystem::path(GetParam()).replace_extension(".txt"),
          cli::render::ToTable(report, {.width = 120, .colours = false}));

  const AnalysedRun again = Analyse(run, 4);
  EXPECT_EQ(cli::render::ToJson(analyzers::BuildReport(again.processes, again.coverage, phase)),
            cli::render::ToJson(report))
      << "the report depends on the number of threads";
}

INSTANTIATE_TEST_SUITE_P(Runs, GoldenTest, testing::ValuesIn(Runs()),
                         [](const auto& info) { return info.param.stem().string(); });

}  // namespace
}  // namespace hotproof::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) hotproof::tests::update |= std::strcmp(argv[i], "--update") == 0;
  return RUN_ALL_TESTS();
}
