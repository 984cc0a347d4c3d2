// Writing hotproof-manifest.json.
#include "cli/manifest.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

namespace hotproof::cli {
namespace {

namespace fs = std::filesystem;

TEST(Manifest, WhatCouldNotBeLookedIntoIsListedUnlessItLeftATrace) {
  SeenProcess seen;
  seen.pid = 7;
  seen.start_ticks = 70;
  seen.unreadable = true;
  trace::Manifest manifest;
  FillProcesses({seen}, {}, manifest);
  ASSERT_EQ(manifest.processes_size(), 1);
  EXPECT_TRUE(manifest.processes(0).gpu_unknown() && !manifest.processes(0).gpu());
  TraceIdentity trace;
  trace.pid = 7;
  trace.start_ticks = 70;
  FillProcesses({seen}, {trace}, manifest);
  EXPECT_TRUE(manifest.processes(0).gpu() && !manifest.processes(0).gpu_unknown());
}

TEST(Manifest, InPidNamespacesOneTraceIsOfOneOfTwoThatCallThemselvesTheSame) {
  std::vector<SeenProcess> seen(3);
  for (int i = 0; i < 3; ++i) {
    seen[i].pid = 40 + i;
    seen[i].namespace_pid = 1;
    seen[i].start_ticks = 70;
    seen[i].holds_uvm = i != 0;
  }
  TraceIdentity trace;
  trace.pid = 1;
  trace.start_ticks = 70;
  trace::Manifest manifest;
  FillProcesses(seen, {trace}, manifest);
  ASSERT_EQ(manifest.processes_size(), 3);
  EXPECT_FALSE(manifest.processes(0).gpu());
  EXPECT_TRUE(manifest.processes(1).traced());
  EXPECT_TRUE(manifest.processes(2).gpu() && !manifest.processes(2).traced());
  EXPECT_EQ(manifest.processes(2).pid(), 42u);
  EXPECT_EQ(manifest.processes(2).namespace_pid(), 1u);
  FillProcesses(seen, {trace, trace}, manifest);
  EXPECT_TRUE(manifest.processes(1).traced() && manifest.processes(2).traced());
  ASSERT_EQ(manifest.processes_size(), 3);
}

TEST(Manifest, OfTwoRunsThatBeginAtOnceOneHasTheFolder) {
  std::string name = fs::temp_directory_path() / "hotproof-manifest-XXXXXX";
  const std::string folder = mkdtemp(name.data());
  trace::Manifest manifest;
  manifest.add_command("first");
  EXPECT_TRUE(WriteManifest(folder, manifest, /*is_first=*/true));
  errno = 0;
  EXPECT_FALSE(WriteManifest(folder, manifest, /*is_first=*/true));
  EXPECT_EQ(errno, EEXIST);
  EXPECT_TRUE(WriteManifest(folder, manifest));
  // Nothing else is left behind.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace hotproof::cli
