// Encodings, names, substitutions and template arguments.
#include <algorithm>
#include <string>
#include <utility>

#include "catalog/name/itanium_parser.h"
#include "catalog/name/itanium_tables.h"
#include "catalog/name/text.h"

namespace hotproof::catalog {

const Node* ParseItanium(std::string_view mangled, NodeFactory& factory) {
  return ItaniumParser(mangled, factory).ParseFunction();
}

bool ItaniumParser::Consume(std::string_view token) {
  if (at_ > in_.size() || !in_.substr(at_).starts_with(token)) return false;
  at_ += token.size();
  return true;
}

bool ItaniumParser::ParseDecimal(size_t* value) {
  if (!IsDigit(Peek())) return false;
  size_t number = 0;
  while (IsDigit(Peek())) {
    if (number > in_.size()) return false;  // no length or index exceeds the name's own
    number = number * 10 + static_cast<size_t>(Peek() - '0');
    ++at_;
  }
  *value = number;
  return true;
}

const Node* ItaniumParser::Remember(const Node* node) {
  if (node != nullptr) substitutions_.push_back(node);
  return node;
}

const Node* ItaniumParser::ParseFunction() {
  if (!Consume("_Z")) return nullptr;
  const Node* function = ParseEncoding(/*is_outermost=*/true);
  if (function == nullptr || function->kind != Node::Kind::kName) return nullptr;
  // Parameters carry nothing that is used, and their expressions can be beyond this grammar.
  const auto is_mangling = [](char c) {
    return (IsAlpha(c) || IsDigit(c)) || c == '_' || c == '.' || c == '$';
  };
  const auto rest = in_.substr(std::min(at_, in_.size()));
  return std::all_of(rest.begin(), rest.end(), is_mangling) ? function : nullptr;
}

// Name, then result type and parameters, of which only the enclosing functions' have to be read.
const Node* ItaniumParser::ParseEncoding(bool is_outermost) {
  DepthGuard guard(*this);
  if (guard.TooDeep()) return nullptr;
  const Node::Args outer = std::exchange(template_args_, {});
  const Node* name = ParseName(nullptr, /*binds_parameters=*/true);
  if (name != nullptr && !is_outermost && Peek() != 'E') {
    NodeList signature;
    if (!ParseParameters(signature)) name = nullptr;
  }
  template_args_ = outer;
  return name;
}

// Types up to the end of the encoding or list.
bool ItaniumParser::ParseParameters(NodeList& out) {
  while (at_ < in_.size() && Peek() != 'E' && Peek() != '.') {
    const Node* type = ParseType();
    if (type == nullptr) return false;
    out.push_back(type);
  }
  return true;
}

const Node* ItaniumParser::WithTemplateArgs(const Node* node, bool binds_parameters) {
  NodeList args;
  if (node == nullptr || !ParseTemplateArgs(args)) return nullptr;
  const Node* result = factory_.WithArgs(*node, args);
  if (binds_parameters && result != nullptr) template_args_ = result->args;
  return result;
}

const Node* ItaniumParser::ParseName(const Node* root, bool binds_parameters) {
  DepthGuard guard(*this);
  if (guard.TooDeep()) return nullptr;
  Consume('L');  // internal linkage
  if (Peek() == 'N') return ParseNestedName(root, binds_parameters);
  if (Peek() == 'Z') return ParseLocalName(binds_parameters);
  const Node* name = nullptr;
  if (Peek() == 'S' && Peek(1) != 't') {
    name = ParseSubstitution();  // a template whose arguments follow
    if (Peek() != 'I') return nullptr;
  } else {
    if (Consume("St")) root = NamedBuiltin("std");
    name = ParseUnqualifiedName(root);
    if (Peek() == 'I') Remember(name);
  }
  return name != nullptr && Peek() == 'I' ? WithTemplateArgs(name, binds_parameters) : name;
}

const Node* ItaniumParser::ParseNestedName(const Node* root, bool binds_parameters) {
  ++at_;  // N
  while (Peek() == 'r' || Peek() == 'V' || Peek() == 'K') ++at_;
  if (Peek() == 'R' || Peek() == 'O') ++at_;
  const Node* current = root;
  size_t remembered = 0;
  while (!Consume('E')) {
    if (at_ >= in_.size()) return nullptr;
    Consume('L');
    if (Peek() == 'S' && Peek(1) != 't') {
      current = ParseSubstitution();
      if (current == nullptr) return nullptr;
      continue;  // already a candidate
    }
    if (Peek() == 'I') {
      current = WithTemplateArgs(current, binds_parameters);
    } else if (Peek() == 'T') {
      current = ParseTemplateParameter();
    } else if (Consume("St")) {
      current = NamedBuiltin("std");
      if (current == nullptr) return nullptr;
      current = ParseUnqualifiedName(current);
    } else {
      current = ParseUnqualifiedName(current);
    }
    if (Remember(current) == nullptr) return nullptr;
    ++remembered;
  }
  if (current == nullptr || current == root || remembered == 0) return nullptr;
  substitutions_.pop_back();  // the whole is a candidate only as a type
  return current;
}

// Z <function encoding> E <entity inside it>
const Node* ItaniumParser::ParseLocalName(bool binds_parameters) {
  ++at_;  // Z
  const Node* enclosing = ParseEncoding(/*is_outermost=*/false);
  if (enclosing == nullptr || !Consume('E')) return nullptr;
  if (enclosing->kind != Node::Kind::kName) return nullptr;
  Node* function = factory_.Copy(*enclosing);
  function->is_function = true;
  if (Consume('s')) {  // a string literal
    ParseDiscriminator();
    return factory_.Make(Node::Kind::kName, "string literal", function);
  }
  if (Consume('d')) {  // a default argument
    size_t ignored;
    ParseDecimal(&ignored);
    if (!Consume('_')) return nullptr;
  }
  const Node* entity = ParseName(function, binds_parameters);
  if (entity != nullptr) ParseDiscriminator();
  return entity;
}

void ItaniumParser::ParseDiscriminator() {
  if (Peek() != '_') return;
  if (IsDigit(Peek(1))) {
    at_ += 2;
  } else if (Peek(1) == '_') {
    const size_t before = at_;
    size_t ignored;
    at_ += 2;
    if (!ParseDecimal(&ignored) || !Consume('_')) at_ = before;
  }
}

const Node* ItaniumParser::ParseUnqualifiedName(const Node* scope) {
  Consume('L');
  const Node* name = nullptr;
  if (IsDigit(Peek())) {
    name = ParseSourceName(scope);
  } else if (Peek() == 'U') {
    name = ParseUnnamedType(scope);
  } else if ((Peek() == 'C' || Peek() == 'D') && IsDigit(Peek(1)) && scope != nullptr) {
    // constructor, destructor
    const bool destructor = Peek() == 'D';
    at_ += 2;
    name = factory_.Make(Node::Kind::kName,
                         destructor ? factory_.Concat("~", scope->text) : scope->text, scope);
  } else {
    name = ParseOperatorName(scope);
  }
  while (name != nullptr && Consume('B')) {  // ABI tags are not part of the canonical name
    size_t length;
    if (!ParseDecimal(&length) || length > in_.size() - at_) return nullptr;
    at_ += length;
  }
  return name;
}

const Node* ItaniumParser::ParseSourceName(const Node* scope) {
  size_t length;
  if (!ParseDecimal(&length) || length == 0 || length > in_.size() - at_) return nullptr;
  std::string_view identifier = in_.substr(at_, length);
  at_ += length;
  if (identifier.starts_with("_GLOBAL__N_")) identifier = "(anonymous namespace)";
  return factory_.Make(Node::Kind::kName, identifier, scope);
}

// Ul <parameters> E [number] _, Ut [number] _
const Node* ItaniumParser::ParseUnnamedType(const Node* scope) {
  const bool is_lambda = Consume("Ul");
  NodeList parameters;
  if (is_lambda) {
    const bool outer = std::exchange(in_lambda_, true);
    const bool parsed = ParseParameters(parameters) && Consume('E');
    in_lambda_ = outer;
    if (!parsed) return nullptr;
    if (parameters.size() == 1 && parameters[0]->text == "void" && parameters[0]->decl.empty()) {
      parameters.clear();
    }
  } else if (!Consume("Ut")) {
    return nullptr;
  }
  size_t number = 0;
  const bool numbered = ParseDecimal(&number);
  if (!Consume('_')) return nullptr;
  const std::string_view text = factory_.Save(std::to_string(numbered ? number + 2 : 1));
  if (is_lambda) return factory_.Make(Node::Kind::kLambda, text, scope, parameters);
  return factory_.Make(Node::Kind::kName,
                       factory_.Concat(factory_.Concat("{unnamed type#", text), "}"), scope);
}

const Node* ItaniumParser::ParseOperatorName(const Node* scope) {
  if (Consume("cv")) {
    const Node* type = ParseType();
    if (type == nullptr) return nullptr;
    return factory_.Make(Node::Kind::kName, factory_.Save("operator " + PrintCanonical(*type)),
                         scope);
  }
  const Operator* op = FindOperator(in_.substr(at_, 2));
  if (op == nullptr) return nullptr;
  at_ += 2;
  return factory_.Make(Node::Kind::kName, factory_.Concat("operator", op->symbol), scope);
}

const Node* ItaniumParser::ParseSubstitution() {
  ++at_;  // S
  static constexpr std::pair<char, std::string_view> kStandard[] = {
      {'a', "allocator"}, {'b', "basic_string"}, {'s', "string"},
      {'i', "istream"},   {'o', "ostream"},      {'d', "iostream"}};
  for (const auto& [code, name] : kStandard) {
    if (Consume(code)) return factory_.Make(Node::Kind::kName, name, NamedBuiltin("std"));
  }
  size_t index = 0;
  if (!Consume('_')) {
    while (IsDigit(Peek()) || IsUpper(Peek())) {
      const int digit = IsDigit(Peek()) ? Peek() - '0' : Peek() - 'A' + 10;
      index = index * 36 + static_cast<size_t>(digit);
      if (index > in_.size()) return nullptr;
      ++at_;
    }
    ++index;
    if (!Consume('_')) return nullptr;
  }
  return index < substitutions_.size() ? substitutions_[index] : nullptr;
}

const Node* ItaniumParser::ParseTemplateParameter() {
  ++at_;  // T
  size_t index = 0;
  if (ParseDecimal(&index)) ++index;
  if (!Consume('_')) return nullptr;
  if (in_lambda_) {
    return factory_.Make(Node::Kind::kOpaque, factory_.Save("auto:" + std::to_string(index + 1)));
  }
  if (index < template_args_.size()) return template_args_[index];
  return factory_.Make(Node::Kind::kOpaque, "auto");
}

bool ItaniumParser::ParseTemplateArgs(NodeList& out) {
  ++at_;  // I
  while (!Consume('E')) {
    if (at_ >= in_.size() || !ParseTemplateArg(out)) return false;
  }
  return true;
}

// One argument; a pack is spread into the list, as printers do.
bool ItaniumParser::ParseTemplateArg(NodeList& out) {
  DepthGuard guard(*this);
  if (guard.TooDeep()) return false;
  const Node* arg = nullptr;
  if (Consume('J')) {
    while (!Consume('E')) {
      if (at_ >= in_.size() || !ParseTemplateArg(out)) return false;
    }
    return true;
  }
  if (Consume('X')) {
    arg = ParseExpression();
    if (!Consume('E')) return false;
  } else if (Peek() == 'L') {
    arg = ParseLiteral();
  } else {
    arg = ParseType();
  }
  if (arg == nullptr) return false;
  out.push_back(arg);
  return true;
}

}  // namespace hotproof::catalog
