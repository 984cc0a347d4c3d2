#include "cupti_tracer/core/cubin.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace hotproof::tracer {
namespace {

// An ELF file with nothing but a table of these names.
std::vector<uint8_t> Cubin(const std::vector<std::string>& names) {
  std::string table(1, '\0');
  for (const std::string& name : names) table.append(name).append(1, '\0');
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = sizeof header + table.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  Elf64_Shdr sections[2] = {};
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = sizeof header;
  sections[1].sh_size = table.size();
  std::vector<uint8_t> bytes(sizeof header + table.size() + sizeof sections);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, table.data(), table.size());
  std::memcpy(bytes.data() + header.e_shoff, sections, sizeof sections);
  return bytes;
}

TEST(CubinTest, AKernelThatLaunchesOnTheDeviceIsFound) {
  EXPECT_TRUE(LaunchesFromDevice(Cubin({"_Z6parentPy", "__cuda_syscall_cnpv2GetParameterBufferV2",
                                        "__cuda_syscall_cnpv2LaunchDeviceV2"})));
  EXPECT_TRUE(LaunchesFromDevice(Cubin({"__cuda_syscall_cnpLaunchDevice"})));
  EXPECT_TRUE(LaunchesFromDevice(Cubin({"_Z6graphsP", "cudaGraphLaunch"})));
}

TEST(CubinTest, OtherCodeIsNot) {
  EXPECT_FALSE(LaunchesFromDevice(Cubin({"_Z4plainPy", "cudaErrorLaunchFailure", "my_cudaGraphLaunch",
                                         "cudaGraphLaunchLater", "__cuda_syscall_cnpv2GetLastError",
                                         "LaunchDevice"})));
}

// A cubin of nvcc 13: only what tells the architecture.
std::vector<uint8_t> CubinFor(uint8_t abi_version, uint32_t flags, const std::string& options) {
  std::vector<uint8_t> bytes = Cubin({options});
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.e_ident[EI_ABIVERSION] = abi_version;
  header.e_machine = 190;
  header.e_flags = flags;
  std::memcpy(bytes.data(), &header, sizeof header);
  const uint32_t note = SHT_NOTE;
  std::memcpy(bytes.data() + header.e_shoff + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_type),
              &note, sizeof note);
  return bytes;
}

TEST(CubinTest, TellsItsArchitecture) {
  const auto text = [](std::span<const uint8_t> cubin) {
    const CubinArchitecture architecture = ArchitectureOf(cubin);
    return std::to_string(architecture.number) + architecture.suffix;
  };
  // Flags as nvcc 13.0 writes them; it notes no options below sm_90.
  EXPECT_EQ(text(CubinFor(8, 0x6005004, "")), "80");
  EXPECT_EQ(text(CubinFor(8, 0x6005a04, "-v -arch sm_90 -m 64 ")), "90");
  EXPECT_EQ(text(CubinFor(8, 0x6005a04, "-arch sm_90a -m 64 ")), "90a");
  EXPECT_EQ(text(CubinFor(8, 0x6006402, "-arch sm_100f -m 64 ")), "100f");
  EXPECT_EQ(text(CubinFor(8, 0x6005a04, "-arch sm_100a")), "90") << "another one's options";
  EXPECT_EQ(text(CubinFor(8, 0x6005a04, "-arch sm_90")), "90");
  // Before: a compute capability in the lowest byte, 0x500550 for sm_80.
  EXPECT_EQ(text(CubinFor(7, 0x500550, "")), "80");
  EXPECT_EQ(text(CubinFor(7, 0x5a0d5a, "")), "90a");
  std::vector<uint8_t> host = CubinFor(8, 0x6005a04, "");
  host[offsetof(Elf64_Ehdr, e_machine)] = 62;
  EXPECT_EQ(text(host), "0");
  EXPECT_EQ(text(std::vector<uint8_t>(10)), "0");
}

TEST(CubinTest, NamesTheFunctionsThatItHasCodeFor) {
  std::ifstream file(HOTPROOF_SOURCE_DIR "/tests/cli/device_code/sm_90a.cubin", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::vector<uint8_t> cubin(text.begin(), text.end());
  const std::vector<std::string_view> names = FunctionNames(cubin);
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0], "_Z22hotproof_fixture_scalePffi");
  EXPECT_EQ(ArchitectureOf(cubin).number, 90u);
  EXPECT_EQ(ArchitectureOf(cubin).suffix, "a");
  for (size_t bytes = 0; bytes < cubin.size(); bytes += 5) {
    FunctionNames(std::span(cubin).first(bytes));
  }
  for (size_t at = 4; at < cubin.size(); ++at) {
    std::vector<uint8_t> changed = cubin;
    changed[at] = 0xff;
    FunctionNames(changed);
    ArchitectureOf(changed);
  }
}

TEST(CubinTest, DamagedFilesAreNotReadBeyondTheirEnd) {
  const std::vector<uint8_t> whole = Cubin({"_Z4plainPy", "__cuda_syscall_cnpv2GetLastError"});
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes));
    EXPECT_FALSE(LaunchesFromDevice(cut));
    ArchitectureOf(cut);
  }
  for (size_t at = SELFMAG; at < whole.size(); ++at) {
    std::vector<uint8_t> changed = whole;
    changed[at] = 0xff;
    EXPECT_FALSE(LaunchesFromDevice(changed)) << at;
    ArchitectureOf(changed);
  }
  EXPECT_FALSE(LaunchesFromDevice({}));
}

}  // namespace
}  // namespace hotproof::tracer
