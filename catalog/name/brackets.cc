#include "catalog/name/brackets.h"

#include "catalog/name/text.h"

namespace hotproof::catalog {
namespace {

char Opening(char closing) {
  switch (closing) {
    case ')':
      return '(';
    case ']':
      return '[';
    case '}':
      return '{';
    case '>':
      return '<';
    default:
      return 0;
  }
}

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

Brackets::Brackets(std::string_view text) : close_(text.size(), 0) {
  std::vector<uint32_t> open;
  size_t open_count[128] = {};
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '<':
        if (!OpensArguments(text.substr(0, i))) break;
        [[fallthrough]];
      case '(':
      case '[':
      case '{':
        open.push_back(static_cast<uint32_t>(i));
        ++open_count[static_cast<size_t>(c)];
        break;
      case '>':
        if (i > 0 && text[i - 1] == '-') break;
        if (open.empty() || text[open.back()] != '<') break;
        [[fallthrough]];
      case ')':
      case ']':
      case '}': {
        const char opening = Opening(c);
        if (open_count[static_cast<size_t>(opening)] == 0) break;
        // Whatever was opened inside and never closed (a comparison's '<') stays without a partner.
        while (text[open.back()] != opening) {
          --open_count[static_cast<size_t>(text[open.back()])];
          open.pop_back();
        }
        close_[open.back()] = static_cast<uint32_t>(i);
        --open_count[static_cast<size_t>(opening)];
        open.pop_back();
        break;
      }
      default:
        break;
    }
  }
}

}  // namespace hotproof::catalog
