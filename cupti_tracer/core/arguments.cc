#include "cupti_tracer/core/arguments.h"

#include <algorithm>
#include <cstring>

namespace hotproof::tracer {
namespace {

constexpr uint32_t kMaxArgumentBytes = 32764;  // the driver's own limit
constexpr uint32_t kHeadBytes = 20;            // CUTLASS: mode, M, N, K, L

bool Contains(const std::vector<uint32_t>& values, uint32_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Cheap filter before asking the driver: 0 and integers below 2^32 are no addresses.
bool CouldBeAddress(uint64_t word) { return (word >> 32) != 0 && (word >> 57) == 0; }

// Two 32-bit extents side by side in a struct, say a batch of 3 above K = 5120, make a number that
// can lie inside an allocation: drivers place some from 2^33 on. Such a word is masked only once
// its place holds an address that two extents cannot make. Until then a pointer that looks so is
// kept as it is, which costs a site for each value and nothing else.
bool CouldBeTwoExtents(uint64_t word) {
  return (word >> 32) < (1u << 12) && (word & 0xffffffff) < (1u << 24);
}

// cuBLAS hands over one packed buffer: {BUFFER_POINTER, p, BUFFER_SIZE, &n, END}. Null: none.
std::span<const uint8_t> PackedArguments(void** extra) {
  const void* packed = nullptr;
  size_t bytes = 0;
  for (void** entry = extra; entry != nullptr && *entry != CU_LAUNCH_PARAM_END; entry += 2) {
    if (*entry == CU_LAUNCH_PARAM_BUFFER_POINTER)
      packed = entry[1];
    else if (*entry == CU_LAUNCH_PARAM_BUFFER_SIZE)
      bytes = *static_cast<size_t*>(entry[1]);
    else
      break;
  }
  return {static_cast<const uint8_t*>(packed), packed == nullptr ? 0 : bytes};
}

// The sizes of scalars without a call.
[[gnu::always_inline]] inline bool SameBytes(const uint8_t* a, const uint8_t* b, size_t bytes) {
  if (bytes == 4) return std::memcmp(a, b, 4) == 0;
  if (bytes == 8) return std::memcmp(a, b, 8) == 0;
  return std::memcmp(a, b, bytes) == 0;
}

}  // namespace

bool IsDeviceAddress(const Driver& driver, uint64_t word) {
  if (driver.PointerGetAttribute == nullptr) return CouldBeAddress(word);
  unsigned memory_type = 0;
  return driver.PointerGetAttribute(&memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    static_cast<CUdeviceptr>(word)) == CUDA_SUCCESS &&
         memory_type != 0;
}

namespace {

// Where the first of `maps` that covers the byte `at` ends; `at` if none does.
uint32_t BehindMap(const std::vector<uint32_t>& maps, uint32_t at) {
  const auto covers = [at](uint32_t map) { return map <= at && at < map + TensorMaps::kBytes; };
  const auto found = std::find_if(maps.begin(), maps.end(), covers);
  return found == maps.end() ? at : *found + TensorMaps::kBytes;
}

// Behind `end` only tensor maps are left: what lies between them is masked, what follows is cut.
void KeepMapsBehind(uint32_t end, ArgumentLayout& head) {
  uint32_t total = end;
  for (const uint32_t map : head.tensor_maps) total = std::max(total, map + TensorMaps::kBytes);
  while (head.offsets.back() >= total) {
    head.offsets.pop_back();
    head.sizes.pop_back();
  }
  head.sizes.back() = std::min(head.sizes.back(), total - head.offsets.back());
  head.total_bytes = total;
  std::erase_if(head.masked, [total](uint32_t at) { return at + 8 > total; });
  for (uint32_t at = end; at + 8 <= total; at = at / 8 * 8 + 8) {
    if (at + 8 > BehindMap(head.tensor_maps, at)) head.masked.push_back(at);
  }
  std::sort(head.masked.begin(), head.masked.end());
  head.masked.erase(std::unique(head.masked.begin(), head.masked.end()), head.masked.end());
}

}  // namespace

ArgumentLayout HeadsOf(const ArgumentLayout& whole) {
  ArgumentLayout head = whole;
  head.heads_only = true;
  for (size_t i = 0; i < whole.sizes.size(); ++i) {
    const uint32_t end_of_argument = whole.offsets[i] + whole.sizes[i];
    uint32_t begin = whole.offsets[i];
    while (BehindMap(whole.tensor_maps, begin) != begin) begin = BehindMap(whole.tensor_maps, begin);
    if (begin + kHeadBytes >= end_of_argument) continue;
    // No map begins before it: they lie 64 bytes apart from where the argument begins (ForEachMapPlace).
    uint32_t end = begin + kHeadBytes;
    for (const uint32_t at : whole.masked) {
      if (at < end && end < at + 8) end = at;  // half an address is none
    }
    KeepMapsBehind(end, head);
    break;
  }
  return head;
}

ArgumentLayout ReadArgumentLayout(const Driver& driver, CUfunction function) {
  ArgumentLayout layout;
  // A launch may carry a CUkernel in the CUfunction's place: ask for both.
  const auto ask = [&](auto&& get) {
    for (size_t index = 0;; ++index) {
      size_t offset = 0, size = 0;
      const CUresult result = get(index, &offset, &size);
      if (result != CUDA_SUCCESS) return result == CUDA_ERROR_INVALID_VALUE;  // past the last one
      if (offset + size > kMaxArgumentBytes) return false;
      layout.offsets.push_back(static_cast<uint32_t>(offset));
      layout.sizes.push_back(static_cast<uint32_t>(size));
      layout.total_bytes = std::max(layout.total_bytes, static_cast<uint32_t>(offset + size));
    }
  };
  if (driver.FuncGetParamInfo != nullptr) {
    layout.readable = ask([&](size_t index, size_t* offset, size_t* size) {
      return driver.FuncGetParamInfo(function, index, offset, size);
    });
  }
  if (!layout.readable && driver.KernelGetParamInfo != nullptr) {
    layout.readable = ask([&](size_t index, size_t* offset, size_t* size) {
      return driver.KernelGetParamInfo(reinterpret_cast<CUkernel>(function), index, offset, size);
    });
  }
  return layout;
}

ArgumentLayout::Piece ArgumentLayout::PieceAt(size_t parameter, uint32_t begin,
                                              uint32_t end) const {
  return {static_cast<uint16_t>(parameter), static_cast<uint16_t>(begin - offsets[parameter]),
          static_cast<uint16_t>(begin), static_cast<uint16_t>(end - begin)};
}

void ArgumentLayout::PreparePieces() {
  compared_.clear();
  map_pieces_.clear();
  std::vector<std::pair<uint32_t, uint32_t>> hidden;  // [begin, end), ascending
  for (uint32_t offset : masked) hidden.emplace_back(offset, offset + 8);
  for (uint32_t offset : tensor_maps) hidden.emplace_back(offset, offset + TensorMaps::kBytes);
  std::sort(hidden.begin(), hidden.end());
  for (size_t i = 0; i < offsets.size(); ++i) {
    uint32_t at = offsets[i];
    const uint32_t end = offsets[i] + sizes[i];
    for (const auto& [begin_hidden, end_hidden] : hidden) {
      if (end_hidden <= at || begin_hidden >= end) continue;
      if (begin_hidden > at) compared_.push_back(PieceAt(i, at, begin_hidden));
      at = std::min(end, end_hidden);
    }
    if (at < end) compared_.push_back(PieceAt(i, at, end));
  }
  for (uint32_t offset : tensor_maps) {
    for (size_t i = 0; i < offsets.size(); ++i) {
      if (offset >= offsets[i] && offset + TensorMaps::kBytes <= offsets[i] + sizes[i]) {
        map_pieces_.push_back(PieceAt(i, offset, offset + TensorMaps::kBytes));
      }
    }
  }
}

bool ArgumentLayout::Matches(void** kernel_params, void** extra, const ArgumentSet& set,
                             const TensorMaps& known_maps) const {
  const uint8_t* const expected = set.bytes.data();
  if (kernel_params != nullptr) {
    for (const Piece& piece : compared_) {
      const auto* given = static_cast<const uint8_t*>(kernel_params[piece.parameter]);
      if (given == nullptr ||
          !SameBytes(given + piece.within, expected + piece.offset, piece.bytes)) {
        return false;
      }
    }
    return map_pieces_.empty() ? set.uses.empty()
                               : MapsMatch(kernel_params, nullptr, set, known_maps);
  }
  const std::span<const uint8_t> packed = PackedArguments(extra);
  if (packed.size() < total_bytes) return false;
  for (const Piece& piece : compared_) {
    if (!SameBytes(packed.data() + piece.offset, expected + piece.offset, piece.bytes)) return false;
  }
  return map_pieces_.empty() ? set.uses.empty() : MapsMatch(nullptr, packed.data(), set, known_maps);
}

bool ArgumentLayout::MapsMatch(void** kernel_params, const uint8_t* packed, const ArgumentSet& set,
                               const TensorMaps& known_maps) const {
  size_t use = 0;
  for (const Piece& piece : map_pieces_) {
    const auto* argument = packed != nullptr
                               ? packed + offsets[piece.parameter]
                               : static_cast<const uint8_t*>(kernel_params[piece.parameter]);
    if (argument == nullptr) return false;
    const uint8_t* given = argument + piece.within;
    const uint32_t id = known_maps.Find(given);
    if (id == 0 || use == kMaxTensorMapUses) continue;
    if (use == set.uses.size() || set.uses[use].argument_offset != piece.offset ||
        set.uses[use].tensor_map_id != id) {
      return false;
    }
    ++use;
  }
  return use == set.uses.size();
}

bool ArgumentBytes::Gather(const ArgumentLayout& layout, const LaunchDescription& description) {
  size_ = 0;
  use_count_ = 0;
  if (!layout.IsEvidence()) return false;
  if (layout.total_bytes > sizeof small_) large_.assign(layout.total_bytes, 0);
  size_ = layout.total_bytes;
  uint8_t* to = mutable_data();
  std::memset(to, 0, size_);
  if (description.kernel_params != nullptr) {
    for (size_t i = 0; i < layout.offsets.size(); ++i) {
      const void* from = description.kernel_params[i];
      if (from != nullptr) std::memcpy(to + layout.offsets[i], from, layout.sizes[i]);
    }
    return true;
  }
  const std::span<const uint8_t> packed = PackedArguments(description.extra);
  if (packed.data() == nullptr) {
    size_ = 0;
    return false;
  }
  // Argument by argument: what lies between them is nobody's.
  for (size_t i = 0; i < layout.offsets.size(); ++i) {
    if (layout.offsets[i] >= packed.size()) continue;
    std::memcpy(to + layout.offsets[i], packed.data() + layout.offsets[i],
                std::min<size_t>(layout.sizes[i], packed.size() - layout.offsets[i]));
  }
  return true;
}

void ArgumentBytes::Mask(const ArgumentLayout& layout, const TensorMaps& tensor_maps) {
  uint8_t* bytes = mutable_data();
  for (uint32_t offset : layout.tensor_maps) {
    if (offset + TensorMaps::kBytes > size_) continue;
    const uint32_t id = tensor_maps.Find(bytes + offset);
    if (id != 0 && use_count_ < kMaxUses) uses_[use_count_++] = {offset, id};
    std::memset(bytes + offset, 0, TensorMaps::kBytes);
  }
  for (uint32_t offset : layout.masked) {
    if (offset + 8 <= size_) std::memset(bytes + offset, 0, 8);
  }
}

void ArgumentBytes::FindNew(const ArgumentLayout& layout, const Driver& driver,
                            const TensorMaps& tensor_maps, std::vector<uint32_t>& masked,
                            std::vector<uint32_t>& maps) const {
  const uint8_t* bytes = data();
  if (!tensor_maps.empty()) {
    ForEachMapPlace(layout, size_, [&](uint32_t offset) {
      if (!Contains(layout.tensor_maps, offset) && tensor_maps.Find(bytes + offset) != 0) {
        maps.push_back(offset);
      }
    });
  }
  const auto in_new_map = [&maps](uint32_t offset) {
    return std::any_of(maps.begin(), maps.end(), [offset](uint32_t map) {
      return offset >= map && offset < map + TensorMaps::kBytes;
    });
  };
  // An address lies within one parameter: scalars that follow each other make none.
  for (size_t i = 0; i < layout.offsets.size(); ++i) {
    const bool is_struct = layout.sizes[i] > 8;
    const uint32_t end = std::min(layout.offsets[i] + layout.sizes[i], size_);
    for (uint32_t offset = (layout.offsets[i] + 7) / 8 * 8; offset + 8 <= end; offset += 8) {
      uint64_t word;
      std::memcpy(&word, bytes + offset, sizeof word);
      if (!CouldBeAddress(word) || (is_struct && CouldBeTwoExtents(word))) continue;
      // Behind a head's end half a word may be masked: what the other half keeps stays.
      const bool is_masked = std::any_of(layout.masked.begin(), layout.masked.end(), [&](uint32_t at) {
        return at < offset + 8 && offset < at + 8;
      });
      if (is_masked || in_new_map(offset)) continue;
      if (IsDeviceAddress(driver, word)) masked.push_back(offset);
    }
  }
}

}  // namespace hotproof::tracer
