// Writing hotproof-manifest.json.
#include "cli/manifest.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>

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
