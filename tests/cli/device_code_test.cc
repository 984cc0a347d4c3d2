// On what nvcc 13.0.88 makes of one kernel (device_code/make_fixtures.sh).
#include "cli/device_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>
#include <zstd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace hotproof::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const std::string kFolder = HOTPROOF_SOURCE_DIR "/tests/cli/device_code/";

std::string Content(const std::string& name) {
  std::ifstream file(kFolder + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
DeviceCode Find(const std::string& bytes) {
  return FindDeviceCode({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}
uint64_t Hash(const std::string& bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

TEST(DeviceCodeTest, ACubinIsHashedAsItIs) {
  const std::string cubin = Content("sm_90a.cubin");
  ASSERT_FALSE(cubin.empty());
  const DeviceCode code = Find(cubin);
  EXPECT_THAT(code.cubin_hashes, ElementsAre(Hash(cubin)));
  EXPECT_EQ(code.unreadable, 0u);
}

TEST(DeviceCodeTest, AFatBinaryHoldsTheSameCubinsCompressedOrNot) {
  const uint64_t sm_80 = Hash(Content("sm_80.cubin")), sm_90a = Hash(Content("sm_90a.cubin"));
  const DeviceCode plain = Find(Content("plain.fatbin")), packed = Find(Content("packed.fatbin"));
  EXPECT_THAT(plain.cubin_hashes, UnorderedElementsAre(sm_80, sm_90a));
  EXPECT_TRUE(plain.ptx_kernels.empty());
  EXPECT_THAT(packed.cubin_hashes, UnorderedElementsAre(sm_80, sm_90a));
  EXPECT_THAT(packed.ptx_kernels, ElementsAre("_Z22hotproof_fixture_scalePffi"));
  EXPECT_EQ(plain.unreadable + packed.unreadable, 0u);
}

TEST(DeviceCodeTest, FindsThemAnywhereInAFile) {
  // Numbers that only look like the beginning of one, then one in a section, then a cubin by itself.
  const std::string looks_like = "\x50\xed\x55\xba\x7f" "ELF" + std::string(60, '\x02');
  const std::string file = std::string(100, 'x') + looks_like + Content("packed.fatbin") +
                           std::string(6, '\0') + Content("sm_90a.cubin") + "tail";
  const DeviceCode code = Find(file);
  EXPECT_EQ(code.cubin_hashes, Find(Content("packed.fatbin")).cubin_hashes);
  EXPECT_EQ(code.ptx_kernels.size(), 1u);
  EXPECT_EQ(code.unreadable, 0u);
}

TEST(DeviceCodeTest, ACubinMayBePackedByItself) {
  const std::string cubin = Content("sm_90a.cubin");
  const auto packed = [](const std::string& content) {
    std::string frame(ZSTD_compressBound(content.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), content.data(), content.size(), 3));
    return frame;
  };
  const std::string magic_only = "\x28\xb5\x2f\xfd" + std::string(40, '\xff');
  const DeviceCode code =
      Find(magic_only + packed(std::string(100, 'x')) + std::string(2, '\0') + packed(cubin) + packed(cubin).substr(0, 99));
  EXPECT_THAT(code.cubin_hashes, ElementsAre(Hash(cubin)));
  EXPECT_EQ(code.unreadable, 0u);
}

TEST(DeviceCodeTest, WhatCannotBeUnpackedIsSaidAndTheRestRead) {
  std::string file = Content("packed.fatbin");
  // The second entry's flags: LZ4 in place of zstd.
  const size_t first_payload = 16 + 80, first_bytes = 368, flags = first_payload + first_bytes + 40;
  ASSERT_EQ(file[flags + 1], '\x80');
  file[flags + 1] = '\x20';
  DeviceCode code = Find(file);
  EXPECT_EQ(code.unreadable, 1u);
  EXPECT_THAT(code.why_unreadable, HasSubstr("LZ4"));
  EXPECT_EQ(code.cubin_hashes.size(), 1u);
  file = Content("packed.fatbin");
  file[first_payload + first_bytes + 64] ^= 1;  // the second entry's frame
  code = Find(file);
  EXPECT_EQ(code.unreadable, 1u);
  EXPECT_THAT(code.why_unreadable, HasSubstr("damaged zstd"));
  EXPECT_EQ(code.cubin_hashes.size(), 1u);
}

TEST(DeviceCodeTest, AFileThatEndsTooSoonIsSaidToBe) {
  for (const char* name : {"plain.fatbin", "packed.fatbin", "sm_80.cubin", "sm_90a.cubin"}) {
    const std::string whole = Content(name);
    EXPECT_EQ(Find(whole).cut_off, "") << name;
    for (size_t bytes = 64; bytes < whole.size(); ++bytes)
      ASSERT_NE(Find(whole.substr(0, bytes)).cut_off, "") << name << " " << bytes;
  }
  // Behind other content, and a cubin that is in the middle of a file for good.
  const std::string fat = Content("plain.fatbin"), cubin = Content("sm_90a.cubin");
  EXPECT_EQ(Find(std::string(100, 'x') + fat.substr(0, 7000)).cut_off, "a fat binary");
  EXPECT_EQ(Find(std::string(100, 'x') + cubin.substr(0, 3000)).cut_off, "a cubin");
  EXPECT_EQ(Find(cubin + fat + cubin + std::string(9, 'x')).cut_off, "");
  // An archive's two members, of which the last has no device code.
  const auto member = [](const std::string& content) {
    std::string header(60, ' ');
    header.replace(0, 2, "a/").replace(48, std::to_string(content.size()).size(), std::to_string(content.size()));
    return header.replace(58, 2, "`\n") + content + std::string(content.size() % 2, '\n');
  };
  const std::string archive = "!<arch>\n" + member(fat) + member(std::string(101, 'x'));
  EXPECT_EQ(Find(archive).cut_off, "");
  EXPECT_EQ(Find(archive.substr(0, archive.size() - 1)).cut_off, "") << "without the padding";
  EXPECT_EQ(Find(archive.substr(0, archive.size() - 2)).cut_off, "an archive");
  EXPECT_EQ(Find(archive.substr(0, archive.size() - 130)).cut_off, "an archive");
}

TEST(DeviceCodeTest, ALibraryThatEndsTooSoonIsSaidToBe) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string program{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(Find(program).cut_off, "");
  EXPECT_EQ(Find(program.substr(0, program.size() - 1)).cut_off, "an ELF file");
}

TEST(DeviceCodeTest, DamageIsNotReadBeyondTheEnd) {
  for (const char* name : {"plain.fatbin", "packed.fatbin", "sm_80.cubin"}) {
    const std::string whole = Content(name);
    for (size_t bytes = 0; bytes < whole.size(); bytes += 7) Find(whole.substr(0, bytes));
    for (size_t at = 0; at < whole.size(); at += 3) {
      for (const char value : {'\xff', '\0', '\x7f'}) {
        std::string changed = whole;
        changed[at] = value;
        Find(changed);
      }
    }
  }
}

TEST(DeviceCodeTest, FilesWithoutDeviceCodeAreErrors) {
  EXPECT_THAT(std::string(ReadDeviceCode(kFolder + "nothing").status().message()),
              HasSubstr("No such file"));
  EXPECT_THAT(std::string(ReadDeviceCode(kFolder).status().message()), HasSubstr("no regular file"));
  EXPECT_THAT(std::string(ReadDeviceCode(kFolder + "kernels.cu").status().message()),
              HasSubstr("no device code"));
  const std::string cut = ::testing::TempDir() + "cut.fatbin";
  std::ofstream(cut, std::ios::binary) << Content("plain.fatbin").substr(0, 7000);
  EXPECT_THAT(std::string(ReadDeviceCode(cut).status().message()),
              HasSubstr("is cut off, it ends within a fat binary"));
  const auto found = ReadDeviceCode(kFolder + "packed.fatbin");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->cubin_hashes.size(), 2u);
}

}  // namespace
}  // namespace hotproof::cli
