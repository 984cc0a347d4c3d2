// Types, literals and expressions.
#include <string>
#include <utility>

#include "catalog/name/itanium_parser.h"
#include "catalog/name/itanium_tables.h"
#include "catalog/name/text.h"

namespace hotproof::catalog {
namespace {

template <typename... Parts>
std::string Cat(const Parts&... parts) {
  std::string out;
  (out.append(parts), ...);
  return out;
}

}  // namespace

// Adds "*", "&", " const" to a type; inside the parentheses of a function or array type.
const Node* ItaniumParser::Declare(const Node* node, std::string_view suffix) {
  if (node == nullptr) return nullptr;
  if (node->kind == Node::Kind::kName && node->decl.ends_with("]")) {
    Node* copy = factory_.Copy(*node);
    copy->decl = "";
    return factory_.WithDecl(*copy, factory_.Save(Cat(" (", suffix, ")", node->decl)));
  }
  return factory_.WithDecl(*node, suffix);
}

const Node* ItaniumParser::ParseType() {
  DepthGuard guard(*this);
  if (guard.TooDeep()) return nullptr;
  if (const std::string_view builtin = BuiltinType(Peek()); !builtin.empty()) {
    ++at_;
    return NamedBuiltin(builtin);
  }
  switch (Peek()) {
    case 'r':
    case 'V':
    case 'K':
      return ParseQualifiedType();
    case 'P':
      ++at_;
      return Remember(Declare(ParseType(), "*"));
    case 'R':
      ++at_;
      return Remember(Declare(ParseType(), "&"));
    case 'O':
      ++at_;
      return Remember(Declare(ParseType(), "&&"));
    case 'C':
    case 'G': {
      const std::string_view kind = Peek() == 'C' ? " _Complex" : " _Imaginary";
      ++at_;
      return Remember(Declare(ParseType(), kind));
    }
    case 'F':
      return Remember(ParseFunctionType());
    case 'A':
      return Remember(ParseArrayType());
    case 'M': {
      ++at_;
      const Node* owner = ParseType();
      const Node* member = owner == nullptr ? nullptr : ParseType();
      if (member == nullptr) return nullptr;
      const std::string decl = Cat(PrintCanonical(*owner), "::*");
      const bool is_function = member->kind == Node::Kind::kFunction;
      return Remember(factory_.WithDecl(*member, is_function ? decl : Cat(" ", decl)));
    }
    case 'D':
      return ParseTypeD();
    case 'T': {
      if (Peek(1) == 's' || Peek(1) == 'u' || Peek(1) == 'e') {  // elaborated: struct, union, enum
        at_ += 2;
        return ParseClassType();
      }
      const Node* parameter = Remember(ParseTemplateParameter());
      if (parameter == nullptr || Peek() != 'I') return parameter;
      return Remember(WithTemplateArgs(parameter, false));
    }
    case 'S': {
      if (Peek(1) == 't') return ParseClassType();
      const Node* type = ParseSubstitution();
      if (type == nullptr || Peek() != 'I') return type;
      return Remember(WithTemplateArgs(type, false));
    }
    case 'u': {
      ++at_;
      return Remember(ParseSourceName(nullptr));
    }
    case 'U': {  // vendor qualifier, or a lambda or unnamed type at namespace scope
      if (Peek(1) == 'l' || Peek(1) == 't') return ParseClassType();
      ++at_;
      NodeList args;
      if (ParseSourceName(nullptr) == nullptr) return nullptr;
      if (Peek() == 'I' && !ParseTemplateArgs(args)) return nullptr;
      return Remember(ParseType());
    }
    default:
      return ParseClassType();
  }
}

const Node* ItaniumParser::ParseClassType() { return Remember(ParseName(nullptr, false)); }

// cv-qualifiers in the order that printers append them.
const Node* ItaniumParser::ParseQualifiedType() {
  bool is_restrict = Consume('r');
  bool is_volatile = Consume('V');
  bool is_const = Consume('K');
  const Node* type = ParseType();
  if (is_const) type = Declare(type, " const");
  if (is_volatile) type = Declare(type, " volatile");
  if (is_restrict) type = Declare(type, " __restrict__");
  return Remember(type);
}

const Node* ItaniumParser::ParseTypeD() {
  switch (Peek(1)) {
    case 'p':  // pack expansion
      at_ += 2;
      return Remember(ParseType());
    case 't':
    case 'T': {
      at_ += 2;
      const Node* expression = ParseExpression();
      if (expression == nullptr || !Consume('E')) return nullptr;
      return Remember(factory_.Make(Node::Kind::kOpaque,
                                    factory_.Save(Cat("decltype(", expression->text, ")"))));
    }
    case 'v': {  // vector
      at_ += 2;
      size_t lanes;
      if (!ParseDecimal(&lanes) || !Consume('_')) return nullptr;
      return Remember(Declare(ParseType(), Cat(" __vector(", std::to_string(lanes), ")")));
    }
    case 'F': {  // DF16_, DF16b
      at_ += 2;
      size_t bits;
      if (!ParseDecimal(&bits)) return nullptr;
      if (Consume('b')) return NamedBuiltin("std::bfloat16_t");
      if (!Consume('_')) return nullptr;
      return NamedBuiltin(factory_.Save(Cat("_Float", std::to_string(bits))));
    }
    case 'o':
      at_ += 2;
      return ParseType();  // noexcept function
    default: {
      const std::string_view builtin = BuiltinTypeD(Peek(1));
      if (builtin.empty()) return nullptr;
      at_ += 2;
      return NamedBuiltin(builtin);
    }
  }
}

const Node* ItaniumParser::ParseFunctionType() {
  ++at_;  // F
  Consume('Y');
  NodeList args;
  if (!ParseParameters(args) || !Consume('E') || args.empty()) return nullptr;
  if (args.size() == 2 && args[1]->text == "void" && args[1]->decl.empty()) args.pop_back();
  return factory_.Make(Node::Kind::kFunction, "", nullptr, args);
}

const Node* ItaniumParser::ParseArrayType() {
  ++at_;  // A
  const size_t begin = at_;
  size_t extent;
  if (!ParseDecimal(&extent) && Peek() != '_' && ParseExpression() == nullptr) return nullptr;
  const std::string_view text = in_.substr(begin, at_ - begin);
  if (!Consume('_')) return nullptr;
  const Node* element = ParseType();
  return element == nullptr ? nullptr : factory_.WithDecl(*element, Cat(" [", text, "]"));
}

// L <type> <value> E, L_Z <encoding> E
const Node* ItaniumParser::ParseLiteral() {
  ++at_;  // L
  if (Consume("_Z")) {
    const Node* function = ParseEncoding(/*is_outermost=*/false);
    return Consume('E') ? function : nullptr;
  }
  const char code = Peek();
  const char* suffix = LiteralSuffix(code);
  const Node* type = nullptr;
  if (suffix != nullptr || code == 'b') {
    ++at_;
  } else {
    type = ParseType();
    if (type == nullptr) return nullptr;
  }
  const bool negative = Consume('n');
  const size_t begin = at_;
  while ((IsAlpha(Peek()) || IsDigit(Peek())) && Peek() != 'E') ++at_;
  std::string_view digits = in_.substr(begin, at_ - begin);
  if (!Consume('E')) return nullptr;
  if (code == 'b') {
    return factory_.Make(Node::Kind::kLiteral, digits == "0" ? "false" : "true");
  }
  if (code == 'f' || code == 'd' || code == 'e' || code == 'g') {  // its bits, no number
    return factory_.Make(Node::Kind::kOpaque,
                         factory_.Save(Cat("(", BuiltinType(code), ")[", digits, "]")));
  }
  if (digits.empty()) digits = "0";  // nullptr
  for (const char c : digits) {
    if (!IsDigit(c)) return factory_.Make(Node::Kind::kOpaque, digits);
  }
  if (negative) digits = factory_.Concat("-", digits);
  if (type != nullptr)
    return factory_.Make(Node::Kind::kLiteral, digits, nullptr, Node::Args(&type, 1));
  Node* literal = factory_.Make(Node::Kind::kLiteral, digits);
  if (literal != nullptr) literal->decl = suffix;
  return literal;
}

// Read so that what follows it can be; the text is no evidence and not printed as C++.
const Node* ItaniumParser::ParseExpression() {
  DepthGuard guard(*this);
  if (guard.TooDeep()) return nullptr;
  const size_t begin = at_;
  const auto opaque = [&] {
    return factory_.Make(Node::Kind::kOpaque, in_.substr(begin, at_ - begin));
  };
  if (Peek() == 'L') return ParseLiteral();
  if (Peek() == 'T') return ParseTemplateParameter();
  if (Peek() == 'f' && (Peek(1) == 'p' || Peek(1) == 'L')) {  // a function's parameter
    at_ += 2;
    size_t ignored;
    ParseDecimal(&ignored);
    Consume('p');
    ParseDecimal(&ignored);
    return Consume('_') ? opaque() : nullptr;
  }
  if (Consume("sr")) {  // a member of a dependent type
    if (ParseType() == nullptr || ParseUnqualifiedName(nullptr) == nullptr) return nullptr;
    NodeList args;
    if (Peek() == 'I' && !ParseTemplateArgs(args)) return nullptr;
    return opaque();
  }
  if (Consume("sZ") || Consume("sp")) return ParseExpression();
  if (Consume("st") || Consume("ti")) return ParseType() == nullptr ? nullptr : opaque();
  if (Consume("cl") || Consume("il")) {
    while (!Consume('E')) {
      if (at_ >= in_.size() || ParseExpression() == nullptr) return nullptr;
    }
    return opaque();
  }
  if (Consume("cv") || Consume("tl")) {
    const bool is_list = in_[at_ - 2] == 't';
    if (ParseType() == nullptr) return nullptr;
    if (!is_list && !Consume('_')) return ParseExpression() == nullptr ? nullptr : opaque();
    while (!Consume('E')) {
      if (at_ >= in_.size() || ParseExpression() == nullptr) return nullptr;
    }
    return opaque();
  }
  if (Consume("ad")) {
    const Node* target = ParseExpression();
    if (target == nullptr || target->kind != Node::Kind::kName)
      return target == nullptr ? nullptr : opaque();
    Node* address = factory_.Copy(*target);
    address->is_address = true;
    return address;
  }
  if (const Operator* op = FindOperator(in_.substr(at_, 2))) {
    at_ += 2;
    for (int i = 0; i < op->operands; ++i) {
      if (ParseExpression() == nullptr) return nullptr;
    }
    return opaque();
  }
  // A name that is found when the template is instantiated.
  NodeList args;
  if (ParseUnqualifiedName(nullptr) == nullptr) return nullptr;
  if (Peek() == 'I' && !ParseTemplateArgs(args)) return nullptr;
  return opaque();
}

}  // namespace hotproof::catalog
