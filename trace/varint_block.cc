#include "trace/varint_block.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "trace/varint.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hotproof::trace {
namespace {

struct Entry {
  uint64_t value;
  const uint8_t* end;
};

// Bits beyond the 64th are dropped.
Entry Decode(const uint8_t* at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const uint8_t byte = *at++;
    if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return {value, at};
  }
}

// One entry; false if it does not fit.
inline bool DecodeOne(const uint8_t*& at, int32_t& out) {
  uint16_t pair;
  std::memcpy(&pair, at, sizeof(pair));
  if ((pair & 0x8080u) == 0x8080u) [[unlikely]] {
    const Entry entry = Decode(at);
    if (entry.value > UINT32_MAX) return false;
    at = entry.end;
    out = static_cast<int32_t>(UnZigZag32(static_cast<uint32_t>(entry.value)));
    return true;
  }
  const uint32_t more = pair >> 7 & 1;
  const uint32_t code = (pair & 0x7fu) | (uint32_t{pair} >> 1 & 0x3f80u & (0u - more));
  at += 1 + more;
  out = static_cast<int32_t>(UnZigZag32(code));
  return true;
}

bool DecodeRest(const uint8_t* at, size_t done, size_t count, int32_t* out, ZigZagCursor& cursor) {
  for (; done < count; ++done) {
    if (!DecodeOne(at, out[done])) return false;
  }
  cursor.at = at;
  return true;
}

using NarrowDecoder = bool (*)(ZigZagCursor (&cursors)[2], size_t count, ZigZagBlock& block);

bool DecodeNarrow(ZigZagCursor (&cursors)[2], size_t count, ZigZagBlock& block) {
  ZigZagCursor next[2] = {cursors[0], cursors[1]};
  for (const int c : {0, 1}) {
    if (next[c].at == nullptr) {
      std::fill_n(block.narrow[c], count, 0);
    } else if (!DecodeRest(next[c].at, 0, count, block.narrow[c], next[c])) {
      return false;
    }
  }
  std::copy_n(next, 2, cursors);
  return true;
}

#if defined(__x86_64__)

// What to do with eight bytes, by which of them say that their entry goes on: put the entries of up
// to `kEntryBytes` bytes that lead into 16 / `kLanes` bytes each.
template <uint32_t kEntryBytes, uint32_t kLanes>
struct Steps {
  static constexpr uint32_t kLaneBytes = 16 / kLanes;
  struct Step {
    std::array<uint8_t, 16> shuffle{};
    uint8_t entries = 0, bytes = 0;
  };
  std::array<Step, 256> steps{};

  constexpr Steps() {
    for (uint32_t goes_on = 0; goes_on < 256; ++goes_on) {
      Step& step = steps[goes_on];
      step.shuffle.fill(0x80);  // zero
      while (step.entries < kLanes) {
        uint32_t more = 0;  // bytes of the entry but the last
        while (step.bytes + more < 8 && (goes_on >> (step.bytes + more) & 1)) ++more;
        if (more >= kEntryBytes || step.bytes + more >= 8) break;
        for (uint32_t i = 0; i <= more; ++i) {
          step.shuffle[kLaneBytes * step.entries + i] = step.bytes++;
        }
        ++step.entries;
      }
    }
  }
};

constexpr Steps<2, 8> kSteps;
constexpr Steps<3, 4> kLongSteps;  // fewer entries

__attribute__((target("ssse3"), always_inline)) inline __m128i Shuffled(__m128i bytes, const auto& step) {
  const __m128i lanes = _mm_shuffle_epi8(
      bytes, _mm_loadu_si128(reinterpret_cast<const __m128i*>(step.shuffle.data())));
  const __m128i codes = _mm_and_si128(lanes, _mm_set1_epi8(0x7f));
  return _mm_maddubs_epi16(_mm_set1_epi16(static_cast<int16_t>(0x8001)), codes);  // low + 128 high
}

// Decodes what leads; writes 8 entries at out + done. False: the next entry does not fit.
__attribute__((target("ssse3"), always_inline)) inline bool TakeStep(const uint8_t*& at, size_t& done,
                                                      int32_t* out) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
  const auto goes_on = static_cast<uint32_t>(_mm_movemask_epi8(bytes));
  __m128i* const to = reinterpret_cast<__m128i*>(out + done);
  if ((goes_on & goes_on >> 1) != 0) [[unlikely]] {
    const auto& step = kLongSteps.steps[goes_on];
    if (step.bytes == 0) return DecodeOne(at, out[done++]);
    const __m128i codes = _mm_madd_epi16(Shuffled(bytes, step), _mm_set1_epi32(0x40000001));
    const __m128i sign =
        _mm_sub_epi32(_mm_setzero_si128(), _mm_and_si128(codes, _mm_set1_epi32(1)));
    _mm_storeu_si128(to, _mm_xor_si128(_mm_srli_epi32(codes, 1), sign));
    at += step.bytes;
    done += step.entries;
    return true;
  }
  const auto& step = kSteps.steps[goes_on];
  const __m128i codes = Shuffled(bytes, step);
  const __m128i sign = _mm_sub_epi16(_mm_setzero_si128(), _mm_and_si128(codes, _mm_set1_epi16(1)));
  const __m128i values = _mm_xor_si128(_mm_srli_epi16(codes, 1), sign);
  _mm_storeu_si128(to, _mm_srai_epi32(_mm_unpacklo_epi16(values, values), 16));
  _mm_storeu_si128(to + 1, _mm_srai_epi32(_mm_unpackhi_epi16(values, values), 16));
  at += step.bytes;
  done += step.entries;
  return true;
}

// Both columns in turn, so that neither waits for its own next position.
__attribute__((target("ssse3"))) bool DecodeNarrowSsse3(ZigZagCursor (&cursors)[2], size_t count,
                                                        ZigZagBlock& block) {
  if (cursors[0].at == nullptr || cursors[1].at == nullptr || count < 8) {
    return DecodeNarrow(cursors, count, block);
  }
  const uint8_t *at0 = cursors[0].at, *at1 = cursors[1].at;
  int32_t *const out0 = block.narrow[0], *const out1 = block.narrow[1];
  size_t done0 = 0, done1 = 0;
  const size_t last = count - 8;  // from here on a step may take too much
  while (done0 <= last && done1 <= last) {
    if (!TakeStep(at0, done0, out0) || !TakeStep(at1, done1, out1)) return false;
  }
  while (done0 <= last) {
    if (!TakeStep(at0, done0, out0)) return false;
  }
  while (done1 <= last) {
    if (!TakeStep(at1, done1, out1)) return false;
  }
  ZigZagCursor next[2];
  if (!DecodeRest(at0, done0, count, out0, next[0])) return false;
  if (!DecodeRest(at1, done1, count, out1, next[1])) return false;
  std::copy_n(next, 2, cursors);
  return true;
}

NarrowDecoder BestNarrowDecoder() {
  return __builtin_cpu_supports("ssse3") ? DecodeNarrowSsse3 : DecodeNarrow;
}

#else

NarrowDecoder BestNarrowDecoder() { return DecodeNarrow; }

#endif

void DecodeWith(NarrowDecoder narrow, ZigZagCursor (&cursors)[2], size_t count,
                ZigZagBlock& block) {
  block.wide = !narrow(cursors, count, block);
  if (!block.wide) return;
  for (const int c : {0, 1}) {
    for (size_t i = 0; i < count; ++i) {
      block.entries[c][i] = 0;
      if (cursors[c].at == nullptr) continue;
      const Entry entry = Decode(cursors[c].at);
      cursors[c].at = entry.end;
      block.entries[c][i] = static_cast<int64_t>(UnZigZag64(entry.value));
    }
  }
}

}  // namespace

void DecodeBlock(ZigZagCursor (&cursors)[2], size_t count, ZigZagBlock& block) {
  static const NarrowDecoder narrow = BestNarrowDecoder();
  DecodeWith(narrow, cursors, count, block);
}

void DecodeBlockPortably(ZigZagCursor (&cursors)[2], size_t count, ZigZagBlock& block) {
  DecodeWith(DecodeNarrow, cursors, count, block);
}

}  // namespace hotproof::trace
