// What is damaged, or made to be long to read, costs as much as its bytes: work is counted, not
// timed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "proto/trace.pb.h"
#include "tests/trace/trace_files.h"
#include "trace/frame_scanner.h"

namespace hotproof::trace {
namespace {

const std::string kMagicBytes(kZstdMagic, sizeof(kZstdMagic));

// A frame's header: one segment, of so much content.
std::string FrameHeader(uint64_t content) {
  std::string header = kMagicBytes + '\xE0';
  for (int i = 0; i < 8; ++i) header += static_cast<char>(content >> (8 * i));
  return header;
}
std::string Block(uint32_t type, uint32_t size, bool last) {
  const uint32_t word = size << 3 | type << 1 | (last ? 1 : 0);
  return {static_cast<char>(word), static_cast<char>(word >> 8), static_cast<char>(word >> 16)};
}
// Of one byte again and again.
std::string Bomb(char byte, uint64_t content) {
  std::string frame = FrameHeader(content);
  for (uint64_t left = content; left > 0;) {
    const auto size = static_cast<uint32_t>(std::min<uint64_t>(left, 131072));
    left -= size;
    frame += Block(1, size, left == 0) + byte;
  }
  return frame;
}

std::string Random(size_t bytes) {
  std::mt19937 random(7);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

// `unit` until there are so many bytes.
std::string Repeat(const std::string& unit, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  return text;
}

struct Cost {
  uint64_t bytes = 0, work = 0, moved = 0, heads = 0;
};

Cost CostOf(const std::string& bytes) {
  ScratchFolder folder;
  const std::string path = folder.File("a.hpt");
  WriteWhole(path, bytes);
  auto file = File::Open(path);
  EXPECT_TRUE(file.ok());
  std::vector<ReadIssue> issues;
  FrameScanner scanner(**file, issues);
  Cost cost{.bytes = bytes.size()};
  while (scanner.Next()) ++cost.heads;
  cost.work = scanner.work_bytes();
  cost.moved = scanner.bytes_moved();
  return cost;
}

TEST(DamageCost, GrowsWithTheFileAtMost) {
  const std::string header = FrameHeader(256 << 20);
  const std::pair<const char*, std::function<std::string(size_t)>> kinds[] = {
      {"random", [](size_t n) { return Random(n); }},
      {"zeros", [](size_t n) { return std::string(n, '\0'); }},
      {"magics", [](size_t n) { return Repeat(kMagicBytes, n); }},
      {"magics amid random bytes", [](size_t n) { return Repeat(kMagicBytes + Random(12), n); }},
      {"frames that claim much", [&](size_t n) { return Repeat(header + "abcd", n); }},
      {"frames of empty blocks",
       [&](size_t n) { return Repeat(header, n / 2) + Repeat(Block(0, 0, false), n / 2); }},
      {"frames in each other", [&](size_t n) { return Repeat(header + Block(0, 13, false), n); }},
      {"frames without content", [](size_t n) { return Repeat(CompressFrame(""), n); }},
      {"frames that end early",
       [](size_t n) { return Repeat(CompressFrame(std::string(5000, 'a')).substr(0, 20), n); }},
      {"much content that is no head", [](size_t n) { return Repeat(Bomb('\0', 256 << 20), n); }},
  };
  for (const auto& [name, make] : kinds) {
    SCOPED_TRACE(name);
    ScratchFolder folder;
    WriteSmallTrace(folder.File("a.hpt"));
    const std::string whole = ReadWhole(folder.File("a.hpt"));
    for (const size_t size : {size_t{1} << 18, size_t{1} << 20}) {
      const Cost cost = CostOf(whole + make(size) + whole);
      EXPECT_LE(cost.work, FrameScanner::MostWork(cost.bytes));
      EXPECT_GE(cost.heads, 3u);
    }
  }
}

// Where nothing is decompressed, the file is read once or a few times over.
TEST(DamageCost, LookingForAFrameReadsTheFileOnce) {
  for (const std::string& unit : {std::string(kMagicBytes), kMagicBytes + Random(12),
                                  CompressFrame(""), FrameHeader(256 << 20) + "abcd"}) {
    SCOPED_TRACE(unit.size());
    const Cost cost = CostOf(Repeat(unit, 4 << 20));
    EXPECT_LE(cost.moved, 4 * cost.bytes);
  }
}

TEST(DamageCost, AGoodHeadBehindMuchDamageIsFound) {
  ScratchFolder folder;
  WriteSmallTrace(folder.File("a.hpt"));
  const std::string whole = ReadWhole(folder.File("a.hpt"));
  EXPECT_EQ(CostOf(whole + Repeat(kMagicBytes + Random(12), 1 << 20) + whole).heads, 6u);
}

}  // namespace
}  // namespace hotproof::trace
