// Mangled names to a tree, by the grammar of the Itanium C++ ABI, as far as kernels' names use it.
// The C++ runtime's demangler refuses names of more than 1,024 characters (CUTLASS exceeds that)
// and returns text that would have to be parsed again. Used by ParseItanium alone, on one thread.
#pragma once

#include <string_view>
#include <vector>

#include "catalog/name/parsed_name.h"

namespace hotproof::catalog {

class ItaniumParser {
 public:
  ItaniumParser(std::string_view mangled, NodeFactory& factory) : in_(mangled), factory_(factory) {}

  // The function of `_Z <encoding>`; null if the text is no mangled name.
  const Node* ParseFunction();

 private:
  class DepthGuard;

  char Peek(size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }
  bool Consume(char c) { return Peek() == c ? ++at_, true : false; }
  bool Consume(std::string_view token);
  bool ParseDecimal(size_t* value);
  const Node* Remember(const Node* node);  // as a candidate for substitution
  const Node* NamedBuiltin(std::string_view name) { return factory_.Make(Node::Kind::kName, name); }

  // itanium_names.cc
  const Node* ParseEncoding(bool is_outermost);
  bool ParseParameters(NodeList& out);
  const Node* ParseName(const Node* root, bool binds_parameters);
  const Node* ParseNestedName(const Node* root, bool binds_parameters);
  const Node* ParseLocalName(bool binds_parameters);
  const Node* ParseUnqualifiedName(const Node* scope);
  const Node* ParseSourceName(const Node* scope);
  const Node* ParseUnnamedType(const Node* scope);
  const Node* ParseOperatorName(const Node* scope);
  const Node* ParseSubstitution();
  const Node* ParseTemplateParameter();
  void ParseDiscriminator();
  bool ParseTemplateArgs(NodeList& out);
  bool ParseTemplateArg(NodeList& out);
  const Node* WithTemplateArgs(const Node* node, bool binds_parameters);

  // itanium_types.cc
  const Node* ParseType();
  const Node* ParseTypeD();
  const Node* ParseQualifiedType();
  const Node* ParseFunctionType();
  const Node* ParseArrayType();
  const Node* ParseClassType();
  const Node* Declare(const Node* node, std::string_view suffix);
  const Node* ParseLiteral();
  const Node* ParseExpression();

  std::string_view in_;
  NodeFactory& factory_;
  size_t at_ = 0;
  uint32_t depth_ = 0;
  bool in_lambda_ = false;  // T_ there is a generic lambda's own parameter
  std::vector<const Node*> substitutions_;
  Node::Args template_args_;  // what T_, T0_, ... stand for
};

class ItaniumParser::DepthGuard {
 public:
  explicit DepthGuard(ItaniumParser& parser) : parser_(parser) { ++parser_.depth_; }
  ~DepthGuard() { --parser_.depth_; }
  bool TooDeep() const { return parser_.depth_ > kMaxDepth; }

 private:
  ItaniumParser& parser_;
};

}  // namespace hotproof::catalog
