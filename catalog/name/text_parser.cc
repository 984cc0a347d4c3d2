#include "catalog/name/text_parser.h"

namespace hotproof::catalog {

const Node* TextParser::ParseFunction() {
  while (true) {
    SkipSpaces();
    const Node* unit = ParseType(0);
    if (unit == nullptr) return nullptr;
    SkipSpaces();
    const bool at_parameters = Peek() == '(' && !text_.substr(at_).starts_with(kAnonymous);
    if (at_ >= end_ || at_parameters || Peek() == '[') {
      return unit->kind == Node::Kind::kName && unit->decl.empty() ? unit : nullptr;
    }
    // What came before was the result type, if another name can begin here.
    const bool begins = IsIdentifierStart(Peek()) || Peek() == '<' || Peek() == '(' ||
                        Peek() == '{' || Peek() == '[';
    if (!begins) return nullptr;
  }
}

const Node* ParseText(std::string_view demangled, NodeFactory& factory) {
  const Node* function = TextParser(demangled, factory).ParseFunction();
  if (!demangled.starts_with("std::enable_if<")) return function;
  if (function != nullptr && !IsNamed(*function, "std::enable_if")) return function;
  // nsys prints conditions in a result type so that brackets don't match. The function follows.
  constexpr std::string_view kResultEnd = ">::type ";
  const size_t end = demangled.find(kResultEnd);
  if (end == std::string_view::npos) return nullptr;
  return TextParser(demangled.substr(end + kResultEnd.size()), factory).ParseFunction();
}

}  // namespace hotproof::catalog
