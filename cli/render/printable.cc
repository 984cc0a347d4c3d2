#include "cli/render/printable.h"

#include <algorithm>

namespace hotproof::cli::render {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// C0, DEL, and C1 (U+0080 to U+009F), of which some begin a terminal's commands as ESC does; U+FFFE and U+FFFF,
// which are no characters and not to be had in XML; line ends of Unicode (U+2028, U+2029) and what turns the
// direction of a line around (U+202A to U+202E, U+2066 to U+2069), which viewers obey.
bool IsControl(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  return first < 0x20 || first == 0x7F ||
         (first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0) ||
         character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF" ||
         (character >= "\xE2\x80\xA8" && character <= "\xE2\x80\xAE") ||
         (character >= "\xE2\x81\xA6" && character <= "\xE2\x81\xA9");
}

// Most texts: nothing of them is replaced.
bool IsPlainAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

// Appends `text` with each of its characters as `put(character)` says, in UTF-8.
template <typename Put>
std::string ByCharacter(std::string_view text, Put put) {
  if (IsPlainAscii(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    out += length == 0 ? kReplacement : put(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace

size_t Utf8Length(std::string_view text) {
  const auto byte = [&text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80 ? 1 : lead >= 0xC2 && lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (lead >= 0x80 && (lead < 0xC2 || lead > 0xF4)) return 0;
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (length >= 3) {  // overlong forms, surrogates, beyond U+10FFFF
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;
    if (lead == 0xED && byte(1) >= 0xA0) return 0;
    if (lead == 0xF0 && byte(1) < 0x90) return 0;
    if (lead == 0xF4 && byte(1) >= 0x90) return 0;
  }
  return length;
}

bool IsUtf8(std::string_view text) {
  if (IsPlainAscii(text)) return true;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string ValidUtf8(std::string_view text) {
  return ByCharacter(text, [](std::string_view character) { return character; });
}

std::string Printable(std::string_view text) {
  return ByCharacter(text, [](std::string_view character) -> std::string_view {
    if (!IsControl(character)) return character;
    return std::string_view("\t\n\v\f\r").find(character[0]) != std::string_view::npos ? " " : "?";
  });
}

}  // namespace hotproof::cli::render
