// Tensor maps whose encoding nobody saw, end to end: eager and captured launches have their dims.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fake_cuda/e2e/traced_program.h"

namespace hotproof::e2e {
namespace {

TEST(UnseenMapsTest, DimsAreReadFromTheBytes) {
  const std::string directory = NewDirectory();
  const RunResult run =
      RunProgram({UNSEEN_MAPS_PROGRAM, "24", "14336", "5120"}, {.out_directory = directory});
  ASSERT_EQ(run.code, 0) << run.output << run.errors;
  const std::vector<TraceSummary> traces = ReadTraces(directory);
  ASSERT_EQ(traces.size(), 1u);
  const trace::Tables& tables = traces[0].tables;
  int eager = 0, captured = 0;
  for (size_t id = 1; id < tables.sites.size(); ++id) {
    const trace::Site& site = tables.sites[id];
    if (tables.kernels[site.kernel_id()].name() != "unseen_maps_gemm") continue;
    (site.captured() ? captured : eager) += 1;
    ASSERT_EQ(site.tensor_maps_size(), 3);
    const uint64_t expected[3][2] = {{5120, 24}, {5120, 14336}, {14336, 24}};
    for (int i = 0; i < 3; ++i) {
      const trace::TensorMap& map = tables.tensor_maps.at(site.tensor_maps(i).tensor_map_id());
      EXPECT_TRUE(map.learnt());
      EXPECT_THAT(map.global_dims(), testing::ElementsAreArray(expected[i]));
    }
  }
  EXPECT_EQ(eager, 1);  // whatever the addresses
  EXPECT_EQ(captured, 1);
}

}  // namespace
}  // namespace hotproof::e2e
