// Where this driver puts what a tensor map is made from, learnt by letting it encode known ones:
// which bits of the 128 bytes each bit of a dim, stride, box or address moves. So the bytes of a
// map whose encoding was not seen tell what it describes. What was learnt need not be believed: a
// description counts only if the driver makes the very same 128 bytes of it.
//
// Learnt once, in the first launch callback that has a use for it (encoding wants a context),
// immutable then.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "trace/writer.h"

namespace hotproof::tracer {

// What cuTensorMapEncodeTiled is given. Interleaved maps are not learnt.
struct TiledTensorMap {
  uint32_t data_type = 0, rank = 0, swizzle = 0, l2_promotion = 0, oob_fill = 0;
  uint64_t address = 0;
  std::array<uint64_t, 5> dims{};     // elements, innermost first
  std::array<uint64_t, 5> strides{};  // bytes, of dims 1..rank-1; the last is not used
  std::array<uint32_t, 5> box{}, element_strides{};

  // Views into this object.
  trace::TensorMapEntry Entry() const;
  friend bool operator==(const TiledTensorMap&, const TiledTensorMap&) = default;
};

class TensorMapLayout {
 public:
  using Encode = decltype(&::cuTensorMapEncodeTiled);
  static constexpr size_t kBytes = sizeof(CUtensorMap);

  // Null and CUDA_SUCCESS: this driver's bytes are not understood, and it makes no sense to try
  // again. Null and an error: the driver encodes nothing yet (no context).
  static std::unique_ptr<const TensorMapLayout> Learn(Encode encode, CUresult& result);

  // What 128 bytes at any alignment describe; nothing if the driver makes other bytes of it.
  std::optional<TiledTensorMap> Decode(const void* map_bytes) const;

 private:
  struct Bits {
    std::array<uint64_t, kBytes / 8> words{};
    bool Has(unsigned bit) const { return words[bit / 64] >> bit % 64 & 1; }
    Bits& operator|=(const Bits& other);
    Bits operator&(const Bits& other) const;
    Bits operator^(const Bits& other) const;
    Bits operator~() const;
    friend bool operator==(const Bits&, const Bits&) = default;
  };
  // As encoded: dims and boxes less one, strides and addresses in 16 bytes.
  static constexpr size_t kNumbers = 20;
  struct Stored {
    std::array<uint64_t, kNumbers> numbers{};
    std::array<uint32_t, 5> choices{};  // kChoices
  };
  // One value of a choice, and how its bits look then.
  struct Choice {
    uint32_t value;
    Bits bits;
  };

  explicit TensorMapLayout(Encode encode) : encode_(encode) {}
  static Stored Base();
  static TiledTensorMap Unpack(const Stored& stored);
  CUresult EncodeBits(const TiledTensorMap& map, Bits& bits) const;
  bool LearnNumbers();
  bool LearnChoices();
  bool Verify() const;
  std::optional<TiledTensorMap> DecodeBits(const Bits& bits) const;

  const Encode encode_;
  Bits base_, moved_by_numbers_;
  // Of each number, the place of its bits; kNowhere: this bit is always as in the base map.
  static constexpr uint16_t kNowhere = 0xffff;
  std::array<std::vector<uint16_t>, kNumbers> places_;
  std::array<Bits, 5> choice_masks_;
  std::array<std::vector<Choice>, 5> choices_;
};

// The layout of the driver in use, learnt when it is first asked for. Any thread; no lock.
class LearntTensorMaps {
 public:
  explicit LearntTensorMaps(TensorMapLayout::Encode encode) : encode_(encode) {}
  ~LearntTensorMaps() { delete layout_.load(); }
  // Null: not learnt (yet).
  const TensorMapLayout* Get();

 private:
  const TensorMapLayout::Encode encode_;
  std::atomic<const TensorMapLayout*> layout_{nullptr};
  std::atomic<bool> refused_{false};
};

}  // namespace hotproof::tracer
