#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/trace/trace_files.h"
#include "trace/segments.h"

namespace hotproof::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FindTracesTest, AFolderGivesItsTracesByNameAndItsManifest) {
  ScratchFolder folder;
  for (const char* name : {"b.hpt", "a.hpt", "a.hpc", "notes.txt", "hotproof-manifest.json"}) {
    WriteWhole(folder.File(name), "");
  }
  auto set = FindTraces({folder.path()});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->trace_paths, ElementsAre(folder.File("a.hpt"), folder.File("b.hpt")));
  EXPECT_EQ(set->manifest_path, folder.File("hotproof-manifest.json"));
}

TEST(FindTracesTest, ATraceWithoutItsNewestFileIsNotPassedOver) {
  ScratchFolder folder;
  for (const char* name : {"a.hpt", "a.000001.hps", "b.000001.hps", "b.000002.hps", "c.hpt.new"}) {
    WriteWhole(folder.File(name), "");
  }
  auto set = FindTraces({folder.path()});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->trace_paths, ElementsAre(folder.File("a.hpt"), folder.File("b.000002.hps")));
}

TEST(FindTracesTest, FilesOfOneTraceAreOneTrace) {
  std::vector<std::string> paths = {
      "/d/b.000002.hps", "/d/b.000001.hps", "/d/a.hpt", "/e/a.000001.hps", "x",
      "/d/a.000007.hps", "/d/a.000001.hps", "/d/a.hpt"};
  KeepNewestFiles(paths);
  EXPECT_THAT(paths, ElementsAre("/d/a.hpt", "/d/b.000002.hps", "/e/a.000001.hps", "x"));
}

TEST(FindTracesTest, AFileIsItselfWithoutManifest) {
  ScratchFolder folder;
  for (const char* name : {"a.hpt", "hotproof-manifest.json"}) WriteWhole(folder.File(name), "");
  auto set = FindTraces({folder.File("a.hpt")});
  ASSERT_TRUE(set.ok());
  EXPECT_THAT(set->trace_paths, ElementsAre(folder.File("a.hpt")));
  EXPECT_FALSE(set->manifest_path.has_value());
}

TEST(FindTracesTest, AnEmptyFolderIsNoError) {
  ScratchFolder folder;
  auto set = FindTraces({folder.path()});
  ASSERT_TRUE(set.ok());
  EXPECT_THAT(set->trace_paths, IsEmpty());
  EXPECT_FALSE(set->manifest_path.has_value());
}

TEST(FindTracesTest, WhatIsNotThereOrAmbiguousIsAnError) {
  ScratchFolder one, two;
  auto set = FindTraces({one.File("absent")});
  ASSERT_FALSE(set.ok());
  EXPECT_THAT(std::string(set.status().message()), HasSubstr("no such file or folder"));
  WriteWhole(one.File("hotproof-manifest.json"), "");
  WriteWhole(two.File("hotproof-manifest.json"), "");
  EXPECT_FALSE(FindTraces({one.path(), two.path()}).ok());
}

}  // namespace
}  // namespace hotproof::trace
