// Names through file descriptors on several threads: the same bytes in the same order whatever the
// threads and the blocks, answers as soon as a line is there, errors said.
#include "cli/classify_stream.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "cli/classify_json.h"
#include "tests/catalog/corpus.h"

namespace hotproof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const catalog::Classifier& TheClassifier() {
  static const auto* classifier =
      new absl::StatusOr<catalog::Classifier>(catalog::Classifier::Create());
  return **classifier;
}

std::string LineOf(const std::string& name) {
  std::string line;
  AppendJsonLine(name, TheClassifier().Classify(name), line);
  return line;
}

class ClassifyLinesTest : public ::testing::Test {
 protected:
  // Through files, so that neither side waits for the other.
  std::string Run(const std::string& input, unsigned threads) {
    const std::string in_path = ::testing::TempDir() + "/classify_stream_names";
    const std::string out_path = ::testing::TempDir() + "/classify_stream_lines";
    std::ofstream(in_path, std::ios::binary) << input;
    const int in = open(in_path.c_str(), O_RDONLY);
    const int out = open(out_path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    EXPECT_TRUE(ClassifyLines(TheClassifier(), in, out, threads).ok());
    close(in);
    close(out);
    std::ostringstream text;
    text << std::ifstream(out_path, std::ios::binary).rdbuf();
    return text.str();
  }
};

TEST_F(ClassifyLinesTest, BlankLinesAreNoNames) {
  EXPECT_EQ(Run("\n  \n\t\r\n gemm\n", 1), LineOf(" gemm"));
}

TEST_F(ClassifyLinesTest, AnyNumberOfThreadsWritesTheSame) {
  const auto names = catalog::AllNames();
  std::mt19937 random(7);
  std::string input, expected;
  while (input.size() < 3 << 20) {  // two dozen blocks
    std::string name = names[random() % names.size()];
    if (random() % 2 == 0) name += "_" + std::to_string(random() % 1000);
    input += name + "\n";
    expected += LineOf(name);
  }
  for (const unsigned threads : {1u, 2u, 7u}) EXPECT_EQ(Run(input, threads), expected) << threads;
}

TEST_F(ClassifyLinesTest, LineEndsAreNoPartOfNames) {
  EXPECT_EQ(Run("", 2), "");
  EXPECT_EQ(Run("\n\r\n\n", 2), "");
  EXPECT_EQ(Run("a\r\n\nb\nc", 2), LineOf("a") + LineOf("b") + LineOf("c"));
}

TEST_F(ClassifyLinesTest, ALineLongerThanABlockIsOneName) {
  const std::string long_name = "f<" + std::string(1 << 20, 'a') + ">";
  EXPECT_EQ(Run("a\n" + long_name + "\nb\n" + long_name, 2),
            LineOf("a") + LineOf(long_name) + LineOf("b") + LineOf(long_name));
}

TEST_F(ClassifyLinesTest, WhatHasArrivedIsAnsweredBeforeTheInputEnds) {
  int in[2], out[2];
  ASSERT_EQ(pipe(in), 0);
  ASSERT_EQ(pipe(out), 0);
  std::thread worker([&] {
    EXPECT_TRUE(ClassifyLines(TheClassifier(), in[0], out[1], 2).ok());
    close(out[1]);
  });
  FILE* answers = fdopen(out[0], "r");
  char line[1024];
  for (const std::string name : {"first", "nvjet_sm90_tst_128x128_64x4_1x1_v_bz_TNT"}) {
    const std::string text = name + "\nhalf a na";
    ASSERT_EQ(write(in[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ASSERT_NE(std::fgets(line, sizeof(line), answers), nullptr);
    EXPECT_EQ(line, LineOf(name));
    ASSERT_EQ(write(in[1], "me\n", 3), 3);
    ASSERT_NE(std::fgets(line, sizeof(line), answers), nullptr);
    EXPECT_EQ(line, LineOf("half a name"));
  }
  close(in[1]);
  EXPECT_EQ(std::fgets(line, sizeof(line), answers), nullptr);
  worker.join();
  std::fclose(answers);
  close(in[0]);
}

TEST_F(ClassifyLinesTest, ALineWithoutEndIsRefused) {
  const int in = open("/dev/zero", O_RDONLY);  // no line ever ends
  const int out = open("/dev/null", O_WRONLY);
  const auto endless = ClassifyLines(TheClassifier(), in, out, 2);
  EXPECT_THAT(std::string(endless.message()), HasSubstr("a line is longer than 64 MiB"));
  close(in);
  close(out);
}

TEST_F(ClassifyLinesTest, AFullDiskIsSaid) {
  int names[2];
  ASSERT_EQ(pipe(names), 0);
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_EQ(write(names[1], "a\nb\n", 4), 4);
  close(names[1]);
  const auto status = ClassifyLines(TheClassifier(), names[0], full, 2);
  EXPECT_THAT(std::string(status.message()), StartsWith("cannot write the result to stdout"));
  close(names[0]);
  close(full);
}

TEST_F(ClassifyLinesTest, ADirectoryHoldsNoNames) {
  const int in = open("/", O_RDONLY);
  const auto status = ClassifyLines(TheClassifier(), in, STDOUT_FILENO, 2);
  EXPECT_THAT(std::string(status.message()), StartsWith("cannot read the names from stdin"));
  close(in);
}

}  // namespace
}  // namespace hotproof::cli
