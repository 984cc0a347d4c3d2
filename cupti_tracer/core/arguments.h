// A launch's arguments as evidence: which bytes, where, with device addresses masked and tensor
// maps replaced by what they describe. No lock is held across the driver calls made here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "cupti_tracer/core/cupti_api.h"
#include "cupti_tracer/core/launch_description.h"
#include "cupti_tracer/core/tensor_maps.h"
#include "trace/writer.h"

namespace hotproof::tracer {

// Whether the driver knows it as one of its memory's.
bool IsDeviceAddress(const Driver& driver, uint64_t word);

// Tensor maps of one launch that are told apart.
inline constexpr size_t kMaxTensorMapUses = 32;

// One set of arguments of a kernel, masked: what launches are compared with. Immutable.
struct ArgumentSet {
  std::vector<uint8_t> bytes;  // ArgumentLayout::total_bytes of them
  std::vector<trace::TensorMapUseEntry> uses;
};

// How to read a kernel's arguments. Immutable once published: readers on other threads keep using
// the version they loaded.
struct ArgumentLayout {
  bool readable = false;    // the driver told offsets and sizes
  bool heads_only = false;  // too many different sets: only what HeadsOf keeps is part of a site
  bool overflowed = false;  // too many of these as well: arguments are no longer part of a site
  uint32_t total_bytes = 0;
  std::vector<uint32_t> offsets, sizes;
  // Offsets of 8-byte words that are not kept: seen as device addresses, or no part of a head.
  std::vector<uint32_t> masked;
  std::vector<uint32_t> tensor_maps;  // offsets of 128-byte runs seen as tensor maps

  // Whether arguments are part of this kernel's sites.
  bool IsEvidence() const { return readable && !overflowed && total_bytes != 0; }
  // Whether a launch has the arguments `set`, but for what is masked. Compares where they lie:
  // nothing is copied or hashed. False also where that cannot be told so. Wants PreparePieces.
  // `kernel_params`, `extra`: as LaunchDescription has them.
  bool Matches(void** kernel_params, void** extra, const ArgumentSet& set,
               const TensorMaps& tensor_maps) const;
  // After the vectors above are filled: what Matches compares.
  void PreparePieces();

 private:
  // A run of bytes of one argument; offsets fit, a kernel's arguments are below 32 KiB.
  struct Piece {
    uint16_t parameter, within;  // in the program's memory
    uint16_t offset, bytes;      // in an ArgumentSet
  };
  Piece PieceAt(size_t parameter, uint32_t begin, uint32_t end) const;
  // One of the two pointers is null.
  bool MapsMatch(void** kernel_params, const uint8_t* packed, const ArgumentSet& set,
                 const TensorMaps& tensor_maps) const;
  std::vector<Piece> compared_, map_pieces_;
};

// Where tensor maps can lie in `size` bytes of arguments: 64-byte aligned within their argument (which begins
// where the kernel's parameter bank puts it).
template <typename Visit>
void ForEachMapPlace(const ArgumentLayout& layout, uint32_t size, Visit visit) {
  for (size_t i = 0; i < layout.offsets.size(); ++i) {
    const uint32_t end = std::min(layout.offsets[i] + layout.sizes[i], size);
    for (uint32_t at = layout.offsets[i]; at + TensorMaps::kBytes <= end; at += 64) visit(at);
  }
}

// Of the first struct among the arguments (but for tensor maps in front of it, or inside at its
// beginning) only its first words, and behind them only tensor maps: a struct's problem size stands
// in front, and what follows is often the leftovers of a stack, new at every launch. What lies
// between the maps is masked, what follows the last one is not kept.
ArgumentLayout HeadsOf(const ArgumentLayout& whole);

ArgumentLayout ReadArgumentLayout(const Driver& driver, CUfunction function);

// The arguments of one launch, gathered into one buffer at the kernel's own offsets.
class ArgumentBytes {
 public:
  // False (and empty) if the arguments cannot be read.
  bool Gather(const ArgumentLayout& layout, const LaunchDescription& description);
  // Zeroes the layout's masked words and tensor maps; looks the maps up.
  void Mask(const ArgumentLayout& layout, const TensorMaps& tensor_maps);
  // Device addresses and tensor maps that the layout does not know yet, added to `masked` and
  // `maps`.
  void FindNew(const ArgumentLayout& layout, const Driver& driver, const TensorMaps& tensor_maps,
               std::vector<uint32_t>& masked, std::vector<uint32_t>& maps) const;

  const uint8_t* data() const { return size_ <= sizeof small_ ? small_ : large_.data(); }
  uint32_t size() const { return size_; }
  // After Mask.
  ArgumentSet AsSet() const { return {{data(), data() + size_}, {uses_, uses_ + use_count_}}; }
  // The tensor maps found among the masked ones.
  std::span<const trace::TensorMapUseEntry> uses() const { return {uses_, use_count_}; }

 private:
  uint8_t* mutable_data() { return const_cast<uint8_t*>(data()); }
  uint32_t size_ = 0;
  alignas(16) uint8_t small_[4096];
  std::vector<uint8_t> large_;
  static constexpr size_t kMaxUses = kMaxTensorMapUses;
  trace::TensorMapUseEntry uses_[kMaxUses];
  size_t use_count_ = 0;
};

}  // namespace hotproof::tracer
