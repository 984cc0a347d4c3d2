// Lists of template arguments or parameters: types, numbers, addresses, casts.
#include "catalog/name/text_parser.h"

namespace hotproof::catalog {
namespace {

bool IsOpening(char c) { return c == '(' || c == '<' || c == '[' || c == '{'; }

}  // namespace

// Comma-separated arguments or parameters in [begin, end).
void TextParser::ParseList(size_t begin, size_t end, uint32_t depth, NodeList& out) {
  const size_t outer_end = end_;
  at_ = begin;
  end_ = end;
  SkipSpaces();
  while (at_ < end_) {
    const size_t start = at_;
    const Node* arg = depth > kMaxDepth ? nullptr : ParseArgument(depth);
    SkipSpaces();
    if (arg == nullptr || (at_ < end_ && Peek() != ',')) arg = TakeOpaqueArgument(start);
    if (arg == nullptr) break;
    out.push_back(arg);
    if (Consume(",")) SkipSpaces();
  }
  at_ = end_;
  end_ = outer_end;
}

// From `start` to the next comma of this list, as text.
const Node* TextParser::TakeOpaqueArgument(size_t start) {
  at_ = start;
  while (at_ < end_ && Peek() != ',') {
    const size_t close = IsOpening(Peek()) ? CloseOf(at_) : Brackets::kNone;
    at_ = close == Brackets::kNone ? at_ + 1 : close + 1;
  }
  return factory_.Make(Node::Kind::kOpaque, Strip(text_.substr(start, at_ - start)));
}

const Node* TextParser::ParseArgument(uint32_t depth) {
  if (IsDigit(Peek()) || Peek() == '-') return ParseNumber();
  if (Peek() == '&') return ParseAddress(depth);
  if (Peek() == '(') return ParseCast(depth);
  const Node* unit = ParseType(depth);
  // nsys prints the result type of a function that a lambda lives in.
  while (unit != nullptr && at_ < end_ && IsIdentifierStart(Peek())) unit = ParseType(depth);
  if (unit != nullptr && unit->kind == Node::Kind::kName && unit->scope == nullptr &&
      !unit->has_args && (unit->text == "true" || unit->text == "false")) {
    return factory_.Make(Node::Kind::kLiteral, unit->text);
  }
  return unit;
}

const Node* TextParser::ParseNumber() {
  const size_t begin = at_;
  if (Peek() == '-') ++at_;
  while (IsDigit(Peek())) ++at_;
  const size_t digits = at_;
  while (IsAlpha(Peek())) ++at_;
  Node* node = factory_.Make(Node::Kind::kLiteral, text_.substr(begin, digits - begin));
  if (node != nullptr) node->decl = text_.substr(digits, at_ - digits);
  return node;
}

// "&f", "&(int f<int>(int))"
const Node* TextParser::ParseAddress(uint32_t depth) {
  ++at_;
  const Node* target = nullptr;
  if (Peek() == '(') {
    const size_t close = CloseOf(at_);
    if (close == Brackets::kNone) return nullptr;
    const size_t outer_end = end_;
    ++at_;
    end_ = close;
    while (true) {
      target = ParseType(depth + 1);
      SkipSpaces();
      if (target == nullptr || !IsIdentifierStart(Peek())) break;
    }
    at_ = close + 1;
    end_ = outer_end;
  } else {
    target = ParseQualified(depth);
    if (Peek() == '(') SkipBrackets();
  }
  if (target == nullptr) return nullptr;
  if (target->kind == Node::Kind::kFunction) target = target->args[0];
  Node* node = factory_.Copy(*target);
  node->is_address = true;
  return node;
}

// "(int)4", "(cute::UMMA::Major)0", "(anonymous namespace)::f", "(F*) &f", or an expression.
const Node* TextParser::ParseCast(uint32_t depth) {
  if (text_.substr(at_).starts_with(kAnonymous)) return ParseType(depth);
  const size_t close = CloseOf(at_);
  if (close == Brackets::kNone) return nullptr;
  size_t after = close + 1;
  while (after < end_ && text_[after] == ' ') ++after;
  if (after >= end_) return nullptr;
  if (text_[after] == '&' || text_[after] == '(') {
    at_ = after;
    return text_[after] == '&' && !(after + 1 < end_ && text_[after + 1] == '&')
               ? ParseAddress(depth)
               : nullptr;
  }
  if (!IsDigit(text_[after]) && text_[after] != '-') return nullptr;
  const size_t outer_end = end_;
  ++at_;
  end_ = close;
  const Node* type = ParseType(depth + 1);
  const bool whole = at_ == close;
  at_ = after;
  end_ = outer_end;
  if (type == nullptr || !whole) return nullptr;
  const Node* number = ParseNumber();
  if (number == nullptr || type->kind != Node::Kind::kName) return nullptr;
  if (type->scope == nullptr && type->decl.empty() && !type->has_args) {
    if (type->text == "bool") {
      return factory_.Make(Node::Kind::kLiteral, number->text == "0" ? "false" : "true");
    }
    if (const auto suffix = SuffixOfCast(type->text)) {
      Node* literal = factory_.Copy(*number);
      literal->decl = *suffix;
      return literal;
    }
  }
  return factory_.Make(Node::Kind::kLiteral, number->text, nullptr, Node::Args(&type, 1));
}

}  // namespace hotproof::catalog
