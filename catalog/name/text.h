// Small text helpers on std::string_view (Debian's Abseil is built with its own string_view).
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace hotproof::catalog {

// What a character is; by table, for every character of a name is asked.
enum CharacterBits : uint8_t { kDigitBit = 1, kUpperBit = 2, kLowerBit = 4, kIdentifierBit = 8 };
inline constexpr std::array<uint8_t, 256> kCharacterBits = [] {
  std::array<uint8_t, 256> bits = {};
  for (int c = '0'; c <= '9'; ++c) bits[static_cast<size_t>(c)] = kDigitBit | kIdentifierBit;
  for (int c = 'A'; c <= 'Z'; ++c) bits[static_cast<size_t>(c)] = kUpperBit | kIdentifierBit;
  for (int c = 'a'; c <= 'z'; ++c) bits[static_cast<size_t>(c)] = kLowerBit | kIdentifierBit;
  bits['_'] = bits['$'] = kIdentifierBit;
  return bits;
}();
inline bool Is(char c, int bits) {
  return (kCharacterBits[static_cast<unsigned char>(c)] & bits) != 0;
}

inline bool IsDigit(char c) { return Is(c, kDigitBit); }
inline bool IsUpper(char c) { return Is(c, kUpperBit); }
inline bool IsLower(char c) { return Is(c, kLowerBit); }
inline bool IsAlpha(char c) { return Is(c, kUpperBit | kLowerBit); }
inline bool IsAlphaNumeric(char c) { return Is(c, kUpperBit | kLowerBit | kDigitBit); }
inline bool IsIdentifierChar(char c) { return Is(c, kIdentifierBit); }
inline char ToLower(char c) { return IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

inline bool ConsumePrefix(std::string_view* text, std::string_view prefix) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

inline bool ConsumeSuffix(std::string_view* text, std::string_view suffix) {
  if (!text->ends_with(suffix)) return false;
  text->remove_suffix(suffix.size());
  return true;
}

inline std::string_view Strip(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
}

// The whole text as a decimal number; false if it is none or does not fit.
inline bool ParseInteger(std::string_view text, int64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace hotproof::catalog
