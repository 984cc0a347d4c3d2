// Demangled names, as c++filt, Kineto and nsys print them, to a tree. Tolerant: an argument that it
// does not understand becomes opaque text and the rest is still read. Every character is read a
// bounded number of times: brackets are matched beforehand, so nothing is tried twice.
#include <string>

#include "catalog/name/brackets.h"
#include "catalog/name/parsed_name.h"
#include "catalog/name/text_words.h"

namespace hotproof::catalog {
namespace {

class TextParser {
 public:
  TextParser(std::string_view text, NodeFactory& factory)
      : text_(text), brackets_(text), factory_(factory) {}

  // [result type] function [parameters] [qualifiers]: the function.
  const Node* Parse(size_t begin, size_t end) {
    at_ = begin;
    end_ = end;
    const Node* unit = nullptr;
    while (true) {
      SkipSpaces();
      unit = ParseType(0);
      if (unit == nullptr) return nullptr;
      SkipSpaces();
      const bool at_parameters = Peek() == '(' && !text_.substr(at_).starts_with(kAnonymous);
      if (at_ >= end_ || at_parameters || Peek() == '[') break;
      if (!StartsUnit()) return nullptr;  // what came before was the result type
    }
    const bool is_function = unit->kind == Node::Kind::kName && unit->decl.empty();
    return is_function ? unit : nullptr;
  }

 private:
  char Peek(size_t ahead = 0) const { return at_ + ahead < end_ ? text_[at_ + ahead] : '\0'; }
  bool Consume(std::string_view token) {
    if (!text_.substr(at_, end_ - at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  bool ConsumeWord(std::string_view word) {
    if (IsIdentifierChar(Peek(word.size()))) return false;
    return Consume(word);
  }
  void SkipSpaces() {
    while (Peek() == ' ') ++at_;
  }
  std::string_view TakeIdentifier() {
    const size_t begin = at_;
    if (Peek() == '~') ++at_;
    while (IsIdentifierChar(Peek())) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  // A type or name can begin here.
  bool StartsUnit() const {
    return IsIdentifierStart(Peek()) || Peek() == '<' || Peek() == '(' || Peek() == '{' ||
           Peek() == '[';
  }
  size_t CloseOf(size_t open) const {
    const size_t close = brackets_.Close(open);
    return close == Brackets::kNone || close >= end_ ? Brackets::kNone : close;
  }

  // A qualified name with its declarator, "float const*" or "void (*)(int)".
  const Node* ParseType(uint32_t depth) {
    if (depth > kMaxDepth) return nullptr;
    std::string decl;
    while (true) {  // leading qualifiers, as nsys prints them
      SkipSpaces();
      if (ConsumeWord("const"))
        decl += " const";
      else if (ConsumeWord("volatile"))
        decl += " volatile";
      else if (!ConsumeWord("typename") && !ConsumeWord("struct") && !ConsumeWord("class") &&
               !ConsumeWord("enum"))
        break;
    }
    const Node* node = ParseQualified(depth);
    if (node == nullptr) return nullptr;
    ParseDeclarator(decl);
    if (!decl.empty()) node = factory_.WithDecl(*node, decl);
    return node != nullptr && Peek() == '(' ? ParseFunctionType(*node, depth) : node;
  }

  void ParseDeclarator(std::string& decl) {
    while (true) {
      const size_t before = at_;
      SkipSpaces();
      if (Consume("*"))
        decl += '*';
      else if (Consume("&&"))
        decl += "&&";
      else if (Consume("&"))
        decl += '&';
      else if (ConsumeWord("const"))
        decl += " const";
      else if (ConsumeWord("volatile"))
        decl += " volatile";
      else if (ConsumeWord("__restrict__") || ConsumeWord("__restrict") ||
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
  const Node* ParseFunctionType(const Node& result, uint32_t depth) {
    const size_t close = CloseOf(at_);
    if (close == Brackets::kNone) return &result;
    std::string_view inner = text_.substr(at_ + 1, close - at_ - 1);
    size_t parameters = at_;
    std::string_view decl;
    if (!inner.empty() && (inner[0] == '*' || inner[0] == '&')) {
      decl = inner;
      parameters = close + 1;
      if (parameters >= end_ || text_[parameters] != '(') return &result;
    } else if (depth == 0) {
      return &result;  // the outermost function's parameters
    }
    const size_t last = CloseOf(parameters);
    if (last == Brackets::kNone) return &result;
    std::vector<const Node*> args = {&result};
    ParseList(parameters + 1, last, depth + 1, args);
    at_ = last + 1;
    Node* node = factory_.Make(Node::Kind::kFunction, "", nullptr, args);
    if (node == nullptr) return nullptr;
    node->decl = decl;
    return node;
  }

  const Node* ParseQualified(uint32_t depth) {
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
  bool EntersFunctionScope() {
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

  const Node* ParseComponent(const Node* scope, uint32_t depth) {
    if (Consume(kAnonymous) || Consume("<unnamed>")) {
      return factory_.Make(Node::Kind::kName, kAnonymous, scope);
    }
    if (Peek() == '{' || Peek() == '[') return ParseUnnamed(scope, depth);
    if (!IsIdentifierStart(Peek())) return nullptr;
    std::string_view identifier = TakeIdentifier();
    if (identifier == "operator") {
      identifier = TakeOperator();
    } else if (identifier.starts_with("_GLOBAL__N_")) {
      identifier = kAnonymous;
    } else if (IsBuiltinWord(identifier)) {
      identifier = TakeBuiltin(identifier);
    } else if (identifier == "decltype") {
      return TakeOpaqueParentheses();
    }
    if (Peek() == '[' && Peek(1) == 'a' && text_.substr(at_).starts_with("[abi:")) SkipBrackets();
    const Node* node = factory_.Make(Node::Kind::kName, identifier, scope);
    if (node == nullptr || Peek() != '<') return node;
    const size_t close = CloseOf(at_);
    if (close == Brackets::kNone) return nullptr;
    std::vector<const Node*> args;
    ParseList(at_ + 1, close, depth + 1, args);
    at_ = close + 1;
    return factory_.WithArgs(*node, args);
  }

  void SkipBrackets() {
    const size_t close = CloseOf(at_);
    at_ = close == Brackets::kNone ? end_ : close + 1;
  }

  // After the keyword: the operator's symbol, or a conversion's type as text.
  std::string_view TakeOperator() {
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

  std::string_view TakeBuiltin(std::string_view first) {
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
    return words == first ? first : factory_.Save(BuiltinSpelling(words));
  }

  const Node* TakeOpaqueParentheses() {
    SkipSpaces();
    if (Peek() != '(') return nullptr;
    const size_t begin = at_;
    SkipBrackets();
    return factory_.Make(Node::Kind::kOpaque, text_.substr(begin, at_ - begin));
  }

  // {lambda(int)#1}, [lambda(int) (instance 1)], {unnamed type#1}
  const Node* ParseUnnamed(const Node* scope, uint32_t depth) {
    const size_t close = CloseOf(at_);
    if (close == Brackets::kNone) return nullptr;
    const size_t begin = at_ + 1;
    std::string_view inner = text_.substr(begin, close - begin);
    at_ = close + 1;
    std::vector<const Node*> parameters;
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

  // Comma-separated arguments or parameters in [begin, end).
  void ParseList(size_t begin, size_t end, uint32_t depth, std::vector<const Node*>& out) {
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
  const Node* TakeOpaqueArgument(size_t start) {
    at_ = start;
    while (at_ < end_ && Peek() != ',') {
      const size_t close = IsOpening(Peek()) ? CloseOf(at_) : Brackets::kNone;
      at_ = close == Brackets::kNone ? at_ + 1 : close + 1;
    }
    return factory_.Make(Node::Kind::kOpaque, Strip(text_.substr(start, at_ - start)));
  }
  static bool IsOpening(char c) { return c == '(' || c == '<' || c == '[' || c == '{'; }

  const Node* ParseArgument(uint32_t depth) {
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

  const Node* ParseNumber() {
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
  const Node* ParseAddress(uint32_t depth) {
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
  const Node* ParseCast(uint32_t depth) {
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
    return factory_.Make(Node::Kind::kLiteral, number->text, nullptr, {type});
  }

  std::string_view text_;
  Brackets brackets_;
  NodeFactory& factory_;
  size_t at_ = 0;
  size_t end_ = 0;
};

}  // namespace

const Node* ParseText(std::string_view demangled, NodeFactory& factory) {
  TextParser parser(demangled, factory);
  const Node* function = parser.Parse(0, demangled.size());
  if (!demangled.starts_with("std::enable_if<")) return function;
  if (function != nullptr && !IsNamed(*function, "std::enable_if")) return function;
  // nsys prints conditions in a result type so that brackets don't match. The function follows.
  constexpr std::string_view kResultEnd = ">::type ";
  const size_t end = demangled.find(kResultEnd);
  if (end == std::string_view::npos) return nullptr;
  return ParseText(demangled.substr(end + kResultEnd.size()), factory);
}

}  // namespace hotproof::catalog
