#include "cli/device_code.h"

#include <ar.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace hotproof::cli {
namespace {

using Bytes = std::span<const uint8_t>;

// A fat binary is a header and then entries, each with a header of its own and a payload. Not documented by
// NVIDIA: seen in what nvcc 13.0 writes, and as told by public readers of it (n-eiling's
// cuda-fatbin-decompression, jiegec's fatbinary, GrigoryEvko's nvopen-tools).
constexpr uint32_t kFatbinMagic = 0xba55ed50;
constexpr uint32_t kElfMagic = 0x464c457f;  // "\x7f" "ELF"
constexpr uint32_t kZstdMagic = 0xfd2fb528;  // RFC 8878
constexpr size_t kFatbinHeaderBytes = 16, kMinEntryHeaderBytes = 64;
enum EntryKind : uint16_t { kPtx = 1, kCubin = 2, kOtherCubin = 16 };
enum EntryFlags : uint64_t { kLz4 = 0x2000, kZstd = 0x8000 };
constexpr uint16_t kCudaMachine = 190;  // EM_CUDA
constexpr uint64_t kMaxUnpackedBytes = uint64_t{1} << 30;

template <typename Value>
Value At(Bytes bytes, size_t offset) {
  Value value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

bool IsElf(Bytes bytes) {
  if (bytes.size() < sizeof(Elf64_Ehdr)) return false;
  const auto header = At<Elf64_Ehdr>(bytes, 0);
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 &&
         (header.e_shnum == 0 || header.e_shentsize == sizeof(Elf64_Shdr)) &&
         (header.e_phnum == 0 || header.e_phentsize == sizeof(Elf64_Phdr));
}

bool IsCubin(Bytes bytes) {
  return IsElf(bytes) && At<Elf64_Ehdr>(bytes, 0).e_machine == kCudaMachine;
}

// How long an ELF file at the beginning of `bytes` is by its own tables; 0: longer than `bytes`. What its segments say
// is in its sections, too, but where a debugger's copy has no content.
size_t ElfBytes(Bytes bytes) {
  const auto header = At<Elf64_Ehdr>(bytes, 0);
  uint64_t end = sizeof header;
  const auto reach = [&](uint64_t offset, uint64_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset) return false;
    end = std::max(end, offset + size);
    return true;
  };
  if (!reach(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)) ||
      !reach(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr))) {
    return 0;
  }
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const auto section = At<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NOBITS && !reach(section.sh_offset, section.sh_size)) return 0;
  }
  return end;
}

// How long a cubin at the beginning of `bytes` is; 0: there is none that is whole.
size_t CubinBytes(Bytes bytes) { return IsCubin(bytes) ? ElfBytes(bytes) : 0; }

// Whether the members of an ar archive (a static library) go on beyond the end of `file`.
bool IsArchiveCutOff(Bytes file) {
  if (file.size() < SARMAG || std::memcmp(file.data(), ARMAG, SARMAG) != 0) return false;
  for (uint64_t at = SARMAG; at < file.size();) {
    if (file.size() - at < sizeof(ar_hdr)) return true;
    const auto member = At<ar_hdr>(file, at);
    uint64_t bytes = 0;
    const auto digits = absl::StripAsciiWhitespace({member.ar_size, sizeof member.ar_size});
    if (std::memcmp(member.ar_fmag, ARFMAG, sizeof member.ar_fmag) != 0 ||
        !absl::SimpleAtoi(digits, &bytes)) {
      return false;  // not made as archives are
    }
    at += sizeof member;
    if (bytes > file.size() - at) return true;
    at += bytes + bytes % 2;
  }
  return false;
}

class Finder {
 public:
  DeviceCode Find(Bytes file) {
    if (IsElf(file) && ElfBytes(file) == 0) code_.cut_off = "an ELF file";
    if (IsArchiveCutOff(file)) code_.cut_off = "an archive";
    for (size_t at = 0; file.size() - at >= kFatbinHeaderBytes;) {
      const Bytes rest = file.subspan(at);
      const auto word = At<uint32_t>(rest, 0);
      const size_t taken = word == kFatbinMagic ? TakeFatbin(rest)
                           : word == kElfMagic  ? TakeBareCubin(rest)
                           : word == kZstdMagic ? TakeBareFrame(rest)
                                                : 0;
      at += taken > 0 ? taken : 2;  // members of archives begin at even places
      if (at > file.size()) break;
    }
    return std::move(code_);
  }

 private:
  // Bytes that belong to it; 0: none begins here.
  size_t TakeFatbin(Bytes rest) {
    const auto version = At<uint16_t>(rest, 4), header_bytes = At<uint16_t>(rest, 6);
    const auto size = At<uint64_t>(rest, 8);
    if (version != 1 || header_bytes != kFatbinHeaderBytes ||
        size > rest.size() - kFatbinHeaderBytes) {
      if (version == 1 && header_bytes == kFatbinHeaderBytes && MayBeEntry(rest.subspan(kFatbinHeaderBytes)))
        code_.cut_off = "a fat binary";
      // The number alone may be a constant in somebody's code.
      const bool plausible = code_.cut_off.empty() && version < 16 && header_bytes >= kFatbinHeaderBytes &&
                             header_bytes <= 256 && size <= rest.size();
      if (plausible) Refuse("a fat binary of a layout that is not known");
      return 0;
    }
    Bytes entries = rest.subspan(kFatbinHeaderBytes, size);
    while (entries.size() >= kMinEntryHeaderBytes) {
      const size_t entry_bytes = At<uint32_t>(entries, 4);
      const auto payload_bytes = At<uint64_t>(entries, 8);
      if (entry_bytes < kMinEntryHeaderBytes || entry_bytes > entries.size() ||
          payload_bytes > entries.size() - entry_bytes) {
        Refuse("a fat binary with an entry beyond its end");
        break;
      }
      TakeEntry(entries.first(entry_bytes), entries.subspan(entry_bytes, payload_bytes));
      entries = entries.subspan(entry_bytes + payload_bytes);
    }
    return kFatbinHeaderBytes + size;
  }

  // An entry's header, or as much of it as there is.
  static bool MayBeEntry(Bytes bytes) {
    if (bytes.size() < 8) return true;
    const auto kind = At<uint16_t>(bytes, 0);
    const auto header_bytes = At<uint32_t>(bytes, 4);
    return (kind == kPtx || kind == kCubin || kind == kOtherCubin) &&
           header_bytes >= kMinEntryHeaderBytes && header_bytes <= 1024;
  }

  void TakeEntry(Bytes header, Bytes payload) {
    const auto kind = At<uint16_t>(header, 0);
    const auto flags = At<uint64_t>(header, 40);
    std::vector<uint8_t> unpacked;
    if ((flags & kZstd) != 0) {
      const uint64_t size = At<uint64_t>(header, 56);
      const uint64_t packed = At<uint32_t>(header, 16);
      if (size > kMaxUnpackedBytes || packed > payload.size()) {
        return Refuse("an entry whose sizes cannot be");
      }
      unpacked.resize(size);
      if (ZSTD_decompress(unpacked.data(), size, payload.data(), packed) != size) {
        return Refuse("a damaged zstd entry");
      }
      payload = unpacked;
    } else if ((flags & kLz4) != 0) {
      return Refuse("an entry compressed with LZ4, as nvcc before 12.8 does; nvcc --no-compress avoids it");
    }
    if (kind == kPtx) return TakePtx(payload);
    if (kind == kCubin || kind == kOtherCubin) {
      if (const size_t bytes = CubinBytes(payload); bytes != 0) {
        AddCubin(payload);
        if (bytes < payload.size()) AddCubin(payload.first(bytes));  // rounded up to whole words
        return;
      }
    }
    Refuse(absl::StrCat("an entry of kind ", kind, " that is neither cubin nor PTX"));
  }

  size_t TakeBareCubin(Bytes rest) {
    const size_t bytes = CubinBytes(rest);
    if (bytes != 0) AddCubin(rest.first(bytes));
    if (bytes == 0 && IsCubin(rest) && code_.cut_off.empty()) code_.cut_off = "a cubin";
    return bytes;
  }

  // A cubin packed without a fat binary around it, as cuBLASLt has them. Other data may be packed, too.
  size_t TakeBareFrame(Bytes rest) {
    const uint64_t size = ZSTD_getFrameContentSize(rest.data(), rest.size());
    const size_t packed = ZSTD_findFrameCompressedSize(rest.data(), rest.size());
    if (ZSTD_isError(packed) || size < sizeof(Elf64_Ehdr) || size > kMaxUnpackedBytes) return 0;
    std::vector<uint8_t> unpacked(size);
    if (ZSTD_decompress(unpacked.data(), size, rest.data(), packed) != size) return 0;
    if (CubinBytes(unpacked) != 0) AddCubin(unpacked);
    return packed;
  }

  void TakePtx(Bytes payload) {
    const std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
    constexpr std::string_view kEntry = ".entry", kBlank = " \t\r\n";
    for (size_t at = text.find(kEntry); at != text.npos; at = text.find(kEntry, at)) {
      at += kEntry.size();
      const size_t begin = text.find_first_not_of(kBlank, at);
      if (begin == at || begin == text.npos) continue;  // of a longer word
      const size_t end = text.find_first_of(" \t\r\n(){", begin);
      code_.ptx_kernels.emplace(text.substr(begin, end - begin));
    }
  }

  void AddCubin(Bytes cubin) { code_.cubin_hashes.insert(XXH3_64bits(cubin.data(), cubin.size())); }

  void Refuse(std::string why) {
    ++code_.unreadable;
    code_.why_unreadable = std::move(why);
  }

  DeviceCode code_;
};

constexpr char kGive[] = "; give the library, program, fat binary or cubin with the kernels";

}  // namespace

DeviceCode FindDeviceCode(std::span<const uint8_t> file) { return Finder().Find(file); }

absl::StatusOr<DeviceCode> ReadDeviceCode(const std::string& path) {
  const auto failed = [&path](int error) {
    return absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(error), kGive));
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed(errno);
  struct stat status {};
  const bool regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = static_cast<size_t>(status.st_size);
  void* mapped = regular && size > 0 ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  const int error = errno;
  close(fd);
  if (!regular) return absl::NotFoundError(absl::StrCat(path, ": no regular file", kGive));
  if (size > 0 && mapped == MAP_FAILED) return failed(error);
  DeviceCode code;
  if (size > 0) {
    code = FindDeviceCode({static_cast<const uint8_t*>(mapped), size});
    munmap(mapped, size);
  }
  if (!code.cut_off.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is cut off, it ends within ", code.cut_off,
                     "; give the whole file, for any kernel may be in what is missing"));
  }
  if (code.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": holds no device code", kGive));
  }
  return code;
}

}  // namespace hotproof::cli
