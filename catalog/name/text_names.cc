// Qualified names and their components.
#include "catalog/name/text_parser.h"

namespace hotproof::catalog {

std::string_view TextParser::TakeIdentifier() {
  const size_t begin = at_;
  size_t at = begin;
  if (Peek() == '~') ++at;
  while (at < end_ && IsIdentifierChar(text_[at])) ++at;
  at_ = at;
  return text_.substr(begin, at - begin);
}

const Node* TextParser::ParseQualified(uint32_t depth) {
  Consume("::");
  const Node* scope = nullptr;
  while (true) {
    const Node* component = ParseComponent(scope, depth);
    if (component == nullptr) return nullptr;
    scope = component;
    if (Consume("::")) continue;
    if (Peek() == '(' && EntersFunctionScope()) {
      Node* function = factory_.Copy(*component);
      function->is_function = true;
      scope = function;
      continue;
    }
    return scope;
  }
}

// At the parameters of a function that encloses what follows, "f(int) const::{lambda()#1}": skips
// to what follows.
bool TextParser::EntersFunctionScope() {
  const size_t close = CloseOf(at_);
  if (close == Brackets::kNone) return false;
  std::string_view rest = text_.substr(close + 1, end_ - close - 1);
  for (std::string_view qualifier : {" const", " volatile", " &&", " &", "&&", "&"}) {
    ConsumePrefix(&rest, qualifier);
  }
  if (!ConsumePrefix(&rest, "::")) return false;
  at_ = end_ - rest.size();
  return true;
}

const Node* TextParser::ParseComponent(const Node* scope, uint32_t depth) {
  const char first = Peek();
  if ((first == '(' && Consume(kAnonymous)) || (first == '<' && Consume("<unnamed>")) ||
      (first == '{' && Consume("{anonymous}"))) {
    return factory_.Make(Node::Kind::kName, kAnonymous, scope);
  }
  if (first == '{' || first == '[') return ParseUnnamed(scope, depth);
  if (!IsIdentifierStart(first)) return nullptr;
  std::string_view identifier = TakeIdentifier();
  if (identifier == "operator") {
    identifier = TakeOperator();
  } else if (identifier.starts_with("_GLOBAL__N_")) {
    identifier = kAnonymous;
  } else if (IsBuiltinWord(identifier)) {
    identifier = TakeBuiltin(identifier);
  } else if (identifier == "decltype") {
    return TakeDecltype();
  }
  if (Peek() == '[' && Peek(1) == 'a' && text_.substr(at_).starts_with("[abi:")) SkipBrackets();
  if (Peek() != '<') return factory_.Make(Node::Kind::kName, identifier, scope);
  const size_t close = CloseOf(at_);
  if (close == Brackets::kNone) return nullptr;
  NodeList args;
  ParseList(at_ + 1, close, depth + 1, args);
  at_ = close + 1;
  return factory_.MakeTemplate(identifier, scope, args);
}

void TextParser::SkipBrackets() {
  const size_t close = CloseOf(at_);
  at_ = close == Brackets::kNone ? end_ : close + 1;
}

// After the keyword: the operator's symbol, or a conversion's type as text.
std::string_view TextParser::TakeOperator() {
  SkipSpaces();
  if (Consume("()")) return "operator()";
  if (Consume("[]")) return "operator[]";
  const size_t begin = at_;
  if (IsIdentifierStart(Peek())) {
    while (at_ < end_ && Peek() != '(' && Peek() != '<') ++at_;
  } else {
    while (at_ < end_ && Peek() != '(' && !IsIdentifierChar(Peek()) && Peek() != ' ') ++at_;
  }
  return factory_.Concat("operator", text_.substr(begin, at_ - begin));
}

std::string_view TextParser::TakeBuiltin(std::string_view first) {
  std::string words(first);
  while (true) {
    const size_t before = at_;
    SkipSpaces();
    const std::string_view word = TakeIdentifier();
    if (!IsBuiltinWord(word)) {
      at_ = before;
      break;
    }
    words.append(" ").append(word);
  }
  const std::string_view spelling = BuiltinSpelling(words);
  return spelling == first ? first : factory_.Save(spelling);
}

// After the keyword. Its expression is evidence of nothing.
const Node* TextParser::TakeDecltype() {
  SkipSpaces();
  if (Peek() != '(') return nullptr;
  const size_t begin = at_;
  SkipBrackets();
  const std::string_view text = factory_.Concat("decltype", text_.substr(begin, at_ - begin));
  return factory_.Make(Node::Kind::kOpaque, text);
}

// {lambda(int)#1}, [lambda(int) (instance 1)], {unnamed type#1}
const Node* TextParser::ParseUnnamed(const Node* scope, uint32_t depth) {
  const size_t close = CloseOf(at_);
  if (close == Brackets::kNone) return nullptr;
  const size_t begin = at_ + 1;
  std::string_view inner = text_.substr(begin, close - begin);
  at_ = close + 1;
  NodeList parameters;
  std::string_view tail = inner;
  const bool is_lambda = ConsumePrefix(&tail, "lambda");
  if (is_lambda) {
    while (ConsumePrefix(&tail, " ")) {
    }
    const size_t open = begin + inner.size() - tail.size();
    if (tail.empty() || tail[0] != '(' || CloseOf(open) == Brackets::kNone) return nullptr;
    const size_t last = CloseOf(open);
    const size_t resume = at_;
    ParseList(open + 1, last, depth + 1, parameters);
    at_ = resume;
    tail = text_.substr(last + 1, close - last - 1);
  } else if (ConsumePrefix(&tail, "unnamed type")) {
  } else {
    return factory_.Make(Node::Kind::kName, text_.substr(begin - 1, close + 2 - begin), scope);
  }
  while (ConsumePrefix(&tail, " ")) {
  }
  if (!ConsumePrefix(&tail, "#") && !ConsumePrefix(&tail, "(instance ")) return nullptr;
  ConsumeSuffix(&tail, ")");
  if (is_lambda) return factory_.Make(Node::Kind::kLambda, tail, scope, parameters);
  return factory_.Make(Node::Kind::kName,
                       factory_.Concat(factory_.Concat("{unnamed type#", tail), "}"), scope);
}

}  // namespace hotproof::catalog
