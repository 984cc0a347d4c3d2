#include "cli/classify_json.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <optional>

namespace hotproof::cli {
namespace {

// The length of the UTF-8 character that `text` begins with; 0 if it is none.
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

// Characters that stand for themselves in a JSON string.
constexpr std::array<bool, 256> kIsPlain = [] {
  std::array<bool, 256> plain = {};
  for (size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

void AppendJsonString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && kIsPlain[static_cast<unsigned char>(text[plain])]) ++plain;
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const char c = text[0];
    size_t length = 1;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      out += escaped;
    } else if ((length = Utf8Length(text)) > 0) {
      out += text.substr(0, length);
    } else {
      out += "\\ufffd";
      length = 1;
    }
    text.remove_prefix(length);
  }
  out += '"';
}

// `key` with its punctuation: ,"m":
void AppendField(std::string_view key, std::string_view value, std::string& out) {
  out += key;
  AppendJsonString(value, out);
}

void AppendField(std::string_view key, std::optional<int64_t> value, std::string& out) {
  if (!value.has_value()) return;
  char digits[24];
  out += key;
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), *value).ptr);
}

}  // namespace

void AppendJsonLine(std::string_view name, const catalog::KernelClass& kernel, std::string& out) {
  AppendField("{\"name\":", name, out);
  AppendField(",\"path\":", PathName(kernel.path), out);
  AppendField(",\"kind\":", KindName(kernel.kind), out);
  AppendField(",\"aDtype\":", kernel.a_dtype, out);
  AppendField(",\"bDtype\":", kernel.b_dtype, out);
  AppendField(",\"scaling\":", kernel.scaling, out);
  AppendField(",\"tile\":", kernel.tile, out);
  AppendField(",\"m\":", kernel.m, out);
  AppendField(",\"n\":", kernel.n, out);
  AppendField(",\"k\":", kernel.k, out);
  AppendField(",\"arch\":", kernel.arch, out);
  AppendField(",\"rule\":", kernel.rule, out);
  out += "}\n";
}

}  // namespace hotproof::cli
