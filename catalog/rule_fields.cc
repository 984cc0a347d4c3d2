#include "catalog/rule_fields.h"

#include <algorithm>

#include "catalog/grammar/grammar.h"
#include "catalog/name/text.h"

namespace hotproof::catalog {

const Node* FindCapture(const Captures& captures, std::string_view name) {
  for (const auto& [known, node] : captures) {
    if (known == name) return node;
  }
  return nullptr;
}

std::optional<std::string_view> CaptureName(std::string_view field) {
  if (!ConsumePrefix(&field, "$")) return std::nullopt;
  return field;
}

std::optional<int64_t> ExtentField(std::string_view field, const Captures& captures) {
  int64_t value = 0;
  if (const auto capture = CaptureName(field)) {
    const Node* node = FindCapture(captures, *capture);
    if (node == nullptr || !IntegerValue(*node, &value)) return std::nullopt;
  } else if (!ParseInteger(field, &value)) {
    return std::nullopt;
  }
  return value > 0 ? std::optional<int64_t>(value) : std::nullopt;
}

std::string TileField(std::string_view field, const Captures& captures) {
  std::string tile;
  while (!field.empty()) {
    const size_t end = std::min(field.find(" x "), field.size());
    const std::string_view part = field.substr(0, end);
    field.remove_prefix(std::min(end + 3, field.size()));
    std::string text(part);
    if (const auto capture = CaptureName(part)) {
      const Node* node = FindCapture(captures, *capture);
      if (node == nullptr) return "";
      const auto extent = ExtentField(part, captures);
      text = extent.has_value() ? std::to_string(*extent) : TileOf(*node);
    }
    if (text.empty()) return "";
    if (!tile.empty()) tile += 'x';
    tile += text;
  }
  return tile;
}

std::string ArchField(std::string_view field, const Captures& captures) {
  const auto capture = CaptureName(field);
  if (!capture.has_value()) return std::string(field);
  for (const Node* at = FindCapture(captures, *capture); at != nullptr; at = at->scope) {
    if (const std::string arch = ArchitectureOf(at->text); !arch.empty()) return arch;
  }
  return "";
}

}  // namespace hotproof::catalog
