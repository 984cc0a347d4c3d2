#include "catalog/name/brackets.h"

#include <array>

#include "absl/container/inlined_vector.h"
#include "catalog/name/text.h"

namespace hotproof::catalog {
namespace {

// What a character is: nothing, or a kind of bracket and which side of it.
constexpr uint8_t kAngle = 3;   // the kinds are 0 to 3
constexpr uint8_t kOpens = 4;   // + kind
constexpr uint8_t kCloses = 8;  // + kind
constexpr std::array<uint8_t, 256> kRoles = [] {
  std::array<uint8_t, 256> roles = {};
  constexpr std::string_view kBrackets = "()[]{}<>";
  for (size_t i = 0; i < kBrackets.size(); ++i) {
    roles[static_cast<unsigned char>(kBrackets[i])] =
        static_cast<uint8_t>(i / 2 + (i % 2 == 0 ? kOpens : kCloses));
  }
  return roles;
}();

// `head` ends in "operator", possibly followed by more of an operator's symbol.
bool AfterOperatorKeyword(std::string_view head) {
  constexpr int kLongestSymbol = 3;  // "<<="; and the scan stays bounded
  for (int i = 0; i < kLongestSymbol && !head.empty(); ++i) {
    if (head.back() != '<' && head.back() != '>' && head.back() != ' ') break;
    head.remove_suffix(1);
  }
  return head.ends_with("operator");
}

bool OpensArguments(std::string_view head) {
  while (!head.empty() && head.back() == ' ') head.remove_suffix(1);
  if (head.empty()) return true;
  if (head.back() == ')') return head.ends_with("operator()") || head.ends_with("operator ()");
  if (head.back() == '<' || head.back() == 'r') return !AfterOperatorKeyword(head);
  return true;
}

}  // namespace

Brackets::Brackets(std::string_view text, std::pmr::memory_resource* memory)
    : close_(static_cast<uint32_t*>(
          memory->allocate(text.size() * sizeof(uint32_t), alignof(uint32_t)))) {
  struct Opened {
    uint32_t at;
    uint8_t kind;
  };
  absl::InlinedVector<Opened, 32> open;
  std::array<size_t, kOpens> open_count = {};  // of each kind
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t role = kRoles[static_cast<unsigned char>(text[i])];
    if (role == 0) continue;
    const uint8_t kind = role % kOpens;
    if (role < kCloses) {
      close_[i] = 0;
      if (kind == kAngle && !OpensArguments(text.substr(0, i))) continue;
      open.push_back({static_cast<uint32_t>(i), kind});
      ++open_count[kind];
      continue;
    }
    if (kind == kAngle && i > 0 && text[i - 1] == '-') continue;
    if (kind == kAngle && (open.empty() || open.back().kind != kAngle)) continue;
    if (open_count[kind] == 0) continue;
    // Whatever was opened inside and never closed (a comparison's '<') stays without a partner.
    while (open.back().kind != kind) {
      --open_count[open.back().kind];
      open.pop_back();
    }
    close_[open.back().at] = static_cast<uint32_t>(i);
    --open_count[kind];
    open.pop_back();
  }
}

}  // namespace hotproof::catalog
