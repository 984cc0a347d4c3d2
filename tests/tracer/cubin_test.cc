#include "cupti_tracer/core/cubin.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
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

TEST(CubinTest, DamagedFilesAreNotReadBeyondTheirEnd) {
  const std::vector<uint8_t> whole = Cubin({"_Z4plainPy", "__cuda_syscall_cnpv2GetLastError"});
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes));
    EXPECT_FALSE(LaunchesFromDevice(cut));
  }
  for (size_t at = SELFMAG; at < whole.size(); ++at) {
    std::vector<uint8_t> changed = whole;
    changed[at] = 0xff;
    EXPECT_FALSE(LaunchesFromDevice(changed)) << at;
  }
  EXPECT_FALSE(LaunchesFromDevice({}));
}

}  // namespace
}  // namespace hotproof::tracer
