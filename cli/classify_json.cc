#include "cli/classify_json.h"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>

#include "cli/render/printable.h"

namespace hotproof::cli {
namespace {

// Characters that stand for themselves in a JSON string.
bool IsPlain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x80 &&
         c != '"' && c != '\\';
}

// The same of eight at once. A byte below `bound` borrows: its high bit is set, as that of what is
// no ASCII is. Borrows make no difference while there is nothing to find.
bool AreAllPlain(uint64_t eight) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  const auto less_than = [](uint64_t bytes, uint64_t bound) { return bytes - kOnes * bound; };
  const uint64_t odd = eight | less_than(eight, 0x20) | less_than(eight ^ (kOnes * '"'), 1) |
                       less_than(eight ^ (kOnes * '\\'), 1);
  return (odd & kHighs) == 0;
}

// How many characters at the beginning of `text` stand for themselves.
size_t PlainLength(std::string_view text) {
  size_t length = 0;
  for (uint64_t eight; length + sizeof(eight) <= text.size(); length += sizeof(eight)) {
    std::memcpy(&eight, text.data() + length, sizeof(eight));
    if (!AreAllPlain(eight)) break;
  }
  while (length < text.size() && IsPlain(text[length])) ++length;
  return length;
}

void AppendJsonString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const size_t plain = PlainLength(text);
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
    } else if ((length = render::Utf8Length(text)) > 0) {
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
