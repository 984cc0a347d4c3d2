#include "cupti_tracer/core/tensor_map_layout.h"

#include <algorithm>
#include <cstring>

namespace hotproof::tracer {
namespace {

// The numbers of a map, as they are stored: (value / 2^shift) - minus, in so many bits.
struct NumberKind {
  size_t first, count;
  unsigned bits, shift, minus;
};
constexpr NumberKind kAddress{0, 1, 60, 4, 0}, kDims{1, 5, 32, 0, 1}, kStrides{6, 4, 36, 4, 0},
    kBox{10, 5, 8, 0, 1}, kSteps{15, 5, 3, 0, 1};
constexpr NumberKind kKinds[] = {kAddress, kDims, kStrides, kBox, kSteps};

enum ChoiceName : size_t { kRank, kType, kSwizzle, kPromotion, kFill };
// Of each choice, the values that its enumeration has room for.
constexpr uint32_t kValues[] = {6, 16, 8, 4, 2};

// The driver's own order of errors: 1 is about the description, these are about the process.
bool IsNotYet(CUresult result) {
  return result == CUDA_ERROR_NOT_INITIALIZED || result == CUDA_ERROR_INVALID_CONTEXT;
}

// Numbers that repeat (splitmix64), to check what was learnt.
uint64_t NextNumber(uint64_t& state) {
  uint64_t x = state += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

}  // namespace

trace::TensorMapEntry TiledTensorMap::Entry() const {
  trace::TensorMapEntry entry;
  entry.data_type = data_type;
  entry.global_dims = {dims.data(), rank};
  entry.global_strides = {strides.data(), rank - 1};
  entry.box_dims = {box.data(), rank};
  entry.element_strides = {element_strides.data(), rank};
  entry.swizzle = swizzle;
  entry.learnt = true;
  return entry;
}

TensorMapLayout::Bits& TensorMapLayout::Bits::operator|=(const Bits& other) {
  for (size_t i = 0; i < words.size(); ++i) words[i] |= other.words[i];
  return *this;
}
TensorMapLayout::Bits TensorMapLayout::Bits::operator&(const Bits& other) const {
  Bits result = *this;
  for (size_t i = 0; i < words.size(); ++i) result.words[i] &= other.words[i];
  return result;
}
TensorMapLayout::Bits TensorMapLayout::Bits::operator^(const Bits& other) const {
  Bits result = *this;
  for (size_t i = 0; i < words.size(); ++i) result.words[i] ^= other.words[i];
  return result;
}
TensorMapLayout::Bits TensorMapLayout::Bits::operator~() const {
  Bits result;
  for (size_t i = 0; i < words.size(); ++i) result.words[i] = ~words[i];
  return result;
}

// The smallest map of five dims that every driver takes: 16 bytes of an 8-byte floating type, which
// all fills and swizzles are for.
TensorMapLayout::Stored TensorMapLayout::Base() {
  Stored base;
  for (size_t i = 0; i < kStrides.count; ++i) base.numbers[kStrides.first + i] = 1;
  base.numbers[kBox.first] = 1;
  base.choices[kRank] = 5;
  base.choices[kType] = CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  return base;
}

TiledTensorMap TensorMapLayout::Unpack(const Stored& stored) {
  const auto value = [&](const NumberKind& kind, size_t i) {
    return (stored.numbers[kind.first + i] + kind.minus) << kind.shift;
  };
  TiledTensorMap map;
  map.rank = stored.choices[kRank];
  map.data_type = stored.choices[kType];
  map.swizzle = stored.choices[kSwizzle];
  map.l2_promotion = stored.choices[kPromotion];
  map.oob_fill = stored.choices[kFill];
  map.address = value(kAddress, 0);
  for (size_t i = 0; i < map.rank; ++i) {
    map.dims[i] = value(kDims, i);
    if (i + 1 < map.rank) map.strides[i] = value(kStrides, i);
    map.box[i] = static_cast<uint32_t>(value(kBox, i));
    map.element_strides[i] = static_cast<uint32_t>(value(kSteps, i));
  }
  return map;
}

CUresult TensorMapLayout::EncodeBits(const TiledTensorMap& map, Bits& bits) const {
  CUtensorMap encoded = {};
  const CUresult result = encode_(
      &encoded, static_cast<CUtensorMapDataType>(map.data_type), map.rank,
      reinterpret_cast<void*>(map.address), reinterpret_cast<const cuuint64_t*>(map.dims.data()),
      reinterpret_cast<const cuuint64_t*>(map.strides.data()), map.box.data(),
      map.element_strides.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
      static_cast<CUtensorMapSwizzle>(map.swizzle),
      static_cast<CUtensorMapL2promotion>(map.l2_promotion),
      static_cast<CUtensorMapFloatOOBfill>(map.oob_fill));
  std::memcpy(bits.words.data(), &encoded, sizeof encoded);
  return result;
}

// Which bits each bit of each number moves. A bit that only one of them moves is its place; those
// that several move (bytes of a box, say) are the driver's own arithmetic and tell nothing.
bool TensorMapLayout::LearnNumbers() {
  struct Source {
    size_t number;
    unsigned bit;
    Bits moved;
  };
  std::vector<Source> sources;
  std::array<uint16_t, 8 * kBytes> movers{};
  for (const NumberKind& kind : kKinds) {
    for (size_t number = kind.first; number < kind.first + kind.count; ++number) {
      places_[number].assign(kind.bits, kNowhere);
      for (unsigned bit = 0; bit < kind.bits; ++bit) {
        // Two maps that differ in this bit alone. A stride is never 0, an inner box never one
        // element.
        Stored without = Base();
        if (kind.first == kStrides.first && bit == 0) without.numbers[number] = 2;
        Stored with = without;
        with.numbers[number] ^= uint64_t{1} << bit;
        Bits before = base_, after;
        if ((without.numbers != Base().numbers &&
             EncodeBits(Unpack(without), before) != CUDA_SUCCESS) ||
            EncodeBits(Unpack(with), after) != CUDA_SUCCESS) {
          continue;  // no map has this bit so
        }
        sources.push_back({number, bit, before ^ after});
        moved_by_numbers_ |= sources.back().moved;
        for (unsigned place = 0; place < movers.size(); ++place) {
          movers[place] += sources.back().moved.Has(place) ? 1 : 0;
        }
      }
    }
  }
  for (const Source& source : sources) {
    for (unsigned place = 0; place < movers.size(); ++place) {
      if (movers[place] == 1 && source.moved.Has(place)) {
        places_[source.number][source.bit] = static_cast<uint16_t>(place);
        break;
      }
    }
    if (places_[source.number][source.bit] == kNowhere) return false;
  }
  return true;
}

// Which bits tell the choices apart, numbers' bits aside, and how they look for each value.
bool TensorMapLayout::LearnChoices() {
  const auto encode = [this](size_t choice, uint32_t value, Bits& bits) {
    Stored stored = Base();
    stored.choices[choice] = value;
    // 16 elements inside are whole 16 bytes of every type.
    if (choice == kType) stored.numbers[kBox.first] = 15;
    return EncodeBits(Unpack(stored), bits);
  };
  for (size_t choice = 0; choice < choices_.size(); ++choice) {
    Bits mask;
    for (uint32_t value = choice == kRank ? 1 : 0; value < kValues[choice]; ++value) {
      Bits bits;
      if (encode(choice, value, bits) != CUDA_SUCCESS) continue;
      choices_[choice].push_back({value, bits});
      mask |= bits ^ choices_[choice].front().bits;
    }
    mask = mask & ~moved_by_numbers_;
    choice_masks_[choice] = mask;
    for (size_t i = 0; i < choices_[choice].size(); ++i) {
      Choice& learnt = choices_[choice][i];
      learnt.bits = learnt.bits & mask;
      for (size_t j = 0; j < i; ++j) {
        if (choices_[choice][j].bits == learnt.bits) return false;
      }
    }
    if (choices_[choice].empty()) return false;
  }
  return true;
}

// Maps of all kinds of numbers. None that the driver takes may be read as another, and most have to
// be read.
bool TensorMapLayout::Verify() const {
  constexpr int kMaps = 128, kLeast = 32;
  uint64_t state = 20;
  int read = 0;
  for (int i = 0; i < kMaps; ++i) {
    Stored stored;
    for (const NumberKind& kind : kKinds) {
      for (size_t j = 0; j < kind.count; ++j) {
        // Small and large: as many bits as chance has it. No address beyond those of devices.
        const unsigned width = kind.first == kAddress.first ? 43 : kind.bits;
        const uint64_t random = NextNumber(state);
        stored.numbers[kind.first + j] =
            (random >> 16) & ((uint64_t{1} << (1 + random % width)) - 1);
      }
    }
    for (size_t choice = 0; choice < choices_.size(); ++choice) {
      const std::vector<Choice>& values = choices_[choice];
      stored.choices[choice] = values[NextNumber(state) % values.size()].value;
    }
    // Boxes that fit, and whole 16 bytes of them inside.
    stored.numbers[kBox.first] = 15;
    for (size_t j = 1; j < kBox.count; ++j) stored.numbers[kBox.first + j] &= 3;
    for (size_t j = 0; j < kStrides.count; ++j) stored.numbers[kStrides.first + j] |= 1;
    stored.numbers[kAddress.first] |= 1;
    if (i % 4 != 0) {
      for (size_t j = 0; j < kSteps.count; ++j) stored.numbers[kSteps.first + j] = 0;
    }
    const TiledTensorMap asked = Unpack(stored);
    Bits bits;
    if (EncodeBits(asked, bits) != CUDA_SUCCESS) continue;
    const std::optional<TiledTensorMap> decoded = DecodeBits(bits);
    if (!decoded) continue;
    if (*decoded != asked) return false;
    ++read;
  }
  return read >= kLeast;
}

std::unique_ptr<const TensorMapLayout> TensorMapLayout::Learn(Encode encode, CUresult& result) {
  result = CUDA_SUCCESS;
  if (encode == nullptr) return nullptr;
  std::unique_ptr<TensorMapLayout> layout(new TensorMapLayout(encode));
  const CUresult first = layout->EncodeBits(Unpack(Base()), layout->base_);
  if (IsNotYet(first)) result = first;
  if (first != CUDA_SUCCESS || !layout->LearnNumbers() || !layout->LearnChoices() ||
      !layout->Verify()) {
    return nullptr;
  }
  return layout;
}

std::optional<TiledTensorMap> TensorMapLayout::DecodeBits(const Bits& bits) const {
  Stored stored = Base();
  for (const NumberKind& kind : kKinds) {
    for (size_t number = kind.first; number < kind.first + kind.count; ++number) {
      for (unsigned bit = 0; bit < kind.bits; ++bit) {
        const uint16_t place = places_[number][bit];
        if (place == kNowhere) continue;
        const uint64_t mask = uint64_t{1} << bit;
        stored.numbers[number] = (stored.numbers[number] & ~mask) | (bits.Has(place) ? mask : 0);
      }
    }
    if (stored.numbers[kAddress.first] == 0) return std::nullopt;  // no map, and quickly so
  }
  for (size_t choice = 0; choice < choices_.size(); ++choice) {
    const Bits seen = bits & choice_masks_[choice];
    const auto found = std::find_if(choices_[choice].begin(), choices_[choice].end(),
                                    [&](const Choice& value) { return value.bits == seen; });
    if (found == choices_[choice].end()) return std::nullopt;
    stored.choices[choice] = found->value;
  }
  const TiledTensorMap map = Unpack(stored);
  Bits again;
  if (EncodeBits(map, again) != CUDA_SUCCESS || again != bits) return std::nullopt;
  return map;
}

std::optional<TiledTensorMap> TensorMapLayout::Decode(const void* map_bytes) const {
  Bits bits;
  std::memcpy(bits.words.data(), map_bytes, kBytes);
  return DecodeBits(bits);
}

const TensorMapLayout* LearntTensorMaps::Get() {
  const TensorMapLayout* known = layout_.load(std::memory_order_acquire);
  if (known != nullptr || encode_ == nullptr || refused_.load(std::memory_order_relaxed)) {
    return known;
  }
  // Threads that come here together learn the same thing; one result is kept.
  CUresult result;
  std::unique_ptr<const TensorMapLayout> learnt = TensorMapLayout::Learn(encode_, result);
  if (learnt == nullptr) {
    if (result == CUDA_SUCCESS) refused_.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  if (layout_.compare_exchange_strong(known, learnt.get(), std::memory_order_acq_rel)) {
    return learnt.release();
  }
  return known;
}

}  // namespace hotproof::tracer
