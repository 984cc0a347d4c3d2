#include "tests/fake_cuda/driver/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace fake_cuda {
namespace {

template <typename T>
T At(const char* base, size_t offset) {
  T value;
  std::memcpy(&value, base + offset, sizeof value);
  return value;
}

}  // namespace

bool IsElf(const void* code) { return std::memcmp(code, ELFMAG, SELFMAG) == 0; }

std::string ElfBytes(const void* code) {
  const auto* base = static_cast<const char*>(code);
  const auto header = At<Elf64_Ehdr>(base, 0);
  size_t end = std::max(header.e_shoff + size_t{header.e_shnum} * header.e_shentsize,
                        header.e_phoff + size_t{header.e_phnum} * header.e_phentsize);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const auto section = At<Elf64_Shdr>(base, header.e_shoff + i * header.e_shentsize);
    if (section.sh_type != SHT_NOBITS)
      end = std::max<size_t>(end, section.sh_offset + section.sh_size);
  }
  return {base, end};
}

std::vector<std::string> ElfKernels(const std::string& bytes) {
  const auto header = At<Elf64_Ehdr>(bytes.data(), 0);
  const auto section = [&](size_t i) {
    return At<Elf64_Shdr>(bytes.data(), header.e_shoff + i * header.e_shentsize);
  };
  const size_t names = section(header.e_shstrndx).sh_offset;
  const std::string text = ".text.";
  std::vector<std::string> kernels;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const std::string name = bytes.data() + names + section(i).sh_name;
    if (name.starts_with(text)) kernels.push_back(name.substr(text.size()));
  }
  return kernels;
}

}  // namespace fake_cuda
