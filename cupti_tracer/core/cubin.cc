#include "cupti_tracer/core/cubin.h"

#include <elf.h>

#include <cstring>
#include <string_view>

namespace hotproof::tracer {
namespace {

bool NamesALaunch(std::string_view names) {
  if (names.find(std::string_view("\0cudaGraphLaunch\0", 17)) != std::string_view::npos) return true;
  constexpr std::string_view kDeviceRuntime("\0__cuda_syscall_cnp", 19);
  for (size_t at = names.find(kDeviceRuntime); at != std::string_view::npos;
       at = names.find(kDeviceRuntime, at + 1)) {
    const std::string_view name = names.substr(at + 1, names.find('\0', at + 1) - at - 1);
    if (name.find("LaunchDevice") != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

bool LaunchesFromDevice(std::span<const uint8_t> cubin) {
  Elf64_Ehdr header;
  if (cubin.size() < sizeof header) return false;
  std::memcpy(&header, cubin.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr)) {
    return false;
  }
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (header.e_shoff > cubin.size() ||
        (cubin.size() - header.e_shoff) / sizeof section <= i) {
      return false;
    }
    std::memcpy(&section, cubin.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_STRTAB || section.sh_offset > cubin.size() ||
        section.sh_size > cubin.size() - section.sh_offset) {
      continue;
    }
    if (NamesALaunch({reinterpret_cast<const char*>(cubin.data()) + section.sh_offset,
                      static_cast<size_t>(section.sh_size)})) {
      return true;
    }
  }
  return false;
}

}  // namespace hotproof::tracer
