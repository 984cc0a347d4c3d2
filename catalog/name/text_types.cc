// Types: a name with its qualifiers and declarators.
#include "catalog/name/text_parser.h"

namespace hotproof::catalog {

// A qualified name with its declarator, "float const*" or "void (*)(int)".
const Node* TextParser::ParseType(uint32_t depth) {
  if (depth > kMaxDepth) return nullptr;
  std::string decl;
  ParseQualifiers(decl);
  const Node* node = ParseQualified(depth);
  if (node == nullptr) return nullptr;
  ParseDeclarator(decl);
  if (!decl.empty()) node = factory_.WithDecl(*node, decl);
  return node != nullptr && Peek() == '(' ? ParseFunctionType(*node, depth) : node;
}

// Leading qualifiers, as nsys prints them, and what a type's name says of its kind.
void TextParser::ParseQualifiers(std::string& decl) {
  while (true) {
    SkipSpaces();
    // Few types have one, and every type is asked.
    const char c = Peek();
    if (c != 'c' && c != 'v' && c != 't' && c != 's' && c != 'e') return;
    if (ConsumeWord("const")) {
      decl += " const";
    } else if (ConsumeWord("volatile")) {
      decl += " volatile";
    } else if (!ConsumeWord("typename") && !ConsumeWord("struct") && !ConsumeWord("class") &&
               !ConsumeWord("enum")) {
      return;
    }
  }
}

void TextParser::ParseDeclarator(std::string& decl) {
  while (true) {
    const size_t before = at_;
    SkipSpaces();
    const char c = Peek();
    if (c == ',' || c == '>' || c == '\0') return;
    if (Consume("*")) {
      decl += '*';
    } else if (Consume("&&")) {
      decl += "&&";
    } else if (Consume("&")) {
      decl += '&';
    } else if (ConsumeWord("const")) {
      decl += " const";
    } else if (ConsumeWord("volatile")) {
      decl += " volatile";
    } else if (ConsumeWord("__restrict__") || ConsumeWord("__restrict") ||
               ConsumeWord("restrict")) {
      decl += " __restrict__";
    } else if (Peek() == '[' && IsDigit(Peek(1)) && CloseOf(at_) != Brackets::kNone) {
      const size_t close = CloseOf(at_);
      decl.append(" ").append(text_.substr(at_, close + 1 - at_));
      at_ = close + 1;
    } else {
      at_ = before;
      SkipSpaces();
      return;
    }
  }
}

// "int (*)(float)" or "int (float)" after the result type; at a parenthesis that is neither, the
// type ends.
const Node* TextParser::ParseFunctionType(const Node& result, uint32_t depth) {
  const bool is_declared = Peek(1) == '*' || Peek(1) == '&';
  if (!is_declared && depth == 0) return &result;  // the outermost function's parameters
  const size_t close = CloseOf(at_);
  if (close == Brackets::kNone) return &result;
  std::string_view inner = text_.substr(at_ + 1, close - at_ - 1);
  size_t parameters = at_;
  std::string_view decl;
  if (is_declared) {
    decl = inner;
    parameters = close + 1;
    if (parameters >= end_ || text_[parameters] != '(') return &result;
  }
  const size_t last = CloseOf(parameters);
  if (last == Brackets::kNone) return &result;
  NodeList args = {&result};
  ParseList(parameters + 1, last, depth + 1, args);
  at_ = last + 1;
  Node* node = factory_.Make(Node::Kind::kFunction, "", nullptr, args);
  if (node == nullptr) return nullptr;
  node->decl = decl;
  return node;
}

}  // namespace hotproof::catalog
