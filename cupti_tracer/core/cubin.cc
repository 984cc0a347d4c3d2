#include "cupti_tracer/core/cubin.h"

#include <elf.h>

#include <cstring>
#include <string>
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

constexpr uint16_t kCudaMachine = 190;  // EM_CUDA

// The header of an ELF file with sections; nothing else.
bool ReadHeader(std::span<const uint8_t> file, Elf64_Ehdr* header) {
  if (file.size() < sizeof *header) return false;
  std::memcpy(header, file.data(), sizeof *header);
  return std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
         header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_shentsize == sizeof(Elf64_Shdr);
}

// Section number `index`; false: none, or it lies beyond the file's end.
bool ReadSection(std::span<const uint8_t> file, const Elf64_Ehdr& header, size_t index,
                 Elf64_Shdr* section, std::string_view* bytes) {
  if (index >= header.e_shnum || header.e_shoff > file.size() ||
      (file.size() - header.e_shoff) / sizeof *section <= index) {
    return false;
  }
  std::memcpy(section, file.data() + header.e_shoff + index * sizeof *section, sizeof *section);
  if (section->sh_type == SHT_NOBITS || section->sh_offset > file.size() ||
      section->sh_size > file.size() - section->sh_offset) {
    *bytes = {};
    return true;
  }
  *bytes = {reinterpret_cast<const char*>(file.data()) + section->sh_offset,
            static_cast<size_t>(section->sh_size)};
  return true;
}

// Calls `visit` with the bytes of each section of `type`, until it returns true.
template <typename Visit>
bool AnySection(std::span<const uint8_t> file, uint32_t type, Visit&& visit) {
  Elf64_Ehdr header;
  if (!ReadHeader(file, &header)) return false;
  Elf64_Shdr section;
  std::string_view bytes;
  for (size_t i = 0; ReadSection(file, header, i, &section, &bytes); ++i) {
    if (section.sh_type == type && visit(bytes)) return true;
  }
  return false;
}

// The letter behind "-arch sm_<number>" in ptxas' note of its options.
std::string SuffixIn(std::string_view note, uint32_t number) {
  const std::string option = "-arch sm_" + std::to_string(number);
  const size_t at = note.find(option);
  if (at == std::string_view::npos || at + option.size() >= note.size()) return "";
  const char letter = note[at + option.size()];
  return letter >= 'a' && letter <= 'z' ? std::string(1, letter) : "";
}

}  // namespace

bool LaunchesFromDevice(std::span<const uint8_t> cubin) {
  return AnySection(cubin, SHT_STRTAB, NamesALaunch);
}

std::vector<std::string_view> FunctionNames(std::span<const uint8_t> cubin) {
  constexpr std::string_view kCode = ".text.";
  std::vector<std::string_view> names;
  Elf64_Ehdr header;
  Elf64_Shdr section;
  std::string_view table, bytes;
  if (!ReadHeader(cubin, &header) ||
      !ReadSection(cubin, header, header.e_shstrndx, &section, &table)) {
    return names;
  }
  for (size_t i = 0; ReadSection(cubin, header, i, &section, &bytes); ++i) {
    if (section.sh_type != SHT_PROGBITS || section.sh_name >= table.size()) continue;
    const std::string_view name =
        table.substr(section.sh_name, table.find('\0', section.sh_name) - section.sh_name);
    if (name.size() > kCode.size() && name.starts_with(kCode)) names.push_back(name.substr(kCode.size()));
  }
  return names;
}

CubinArchitecture ArchitectureOf(std::span<const uint8_t> cubin) {
  Elf64_Ehdr header;
  if (!ReadHeader(cubin, &header) || header.e_machine != kCudaMachine) return {};
  CubinArchitecture architecture;
  if (header.e_ident[EI_ABIVERSION] < 8) {
    architecture.number = header.e_flags & 0xff;
    if ((header.e_flags & 0x800) != 0) architecture.suffix = "a";
    return architecture;
  }
  architecture.number = header.e_flags >> 8 & 0xff;
  AnySection(cubin, SHT_NOTE, [&](std::string_view note) {
    architecture.suffix = SuffixIn(note, architecture.number);
    return !architecture.suffix.empty();
  });
  return architecture;
}

}  // namespace hotproof::tracer
