// Demangled names, as c++filt, Kineto and nsys print them, to a tree. Tolerant: an argument that it
// does not understand becomes opaque text and the rest is still read. Every character is read a
// bounded number of times: brackets are matched beforehand, so nothing is tried twice. Used by
// ParseText alone, on one thread.
#pragma once

#include <string>
#include <string_view>

#include "catalog/name/brackets.h"
#include "catalog/name/parsed_name.h"
#include "catalog/name/text_words.h"

namespace hotproof::catalog {

class TextParser {
 public:
  TextParser(std::string_view text, NodeFactory& factory)
      : text_(text), brackets_(text, factory.memory()), factory_(factory), end_(text.size()) {}

  // [result type] function [parameters] [qualifiers]: the function. Null if it is none.
  const Node* ParseFunction();

 private:
  char Peek(size_t ahead = 0) const { return at_ + ahead < end_ ? text_[at_ + ahead] : '\0'; }
  bool Consume(std::string_view token) {
    if (!text_.substr(at_, end_ - at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  bool ConsumeWord(std::string_view word) {
    return !IsIdentifierChar(Peek(word.size())) && Consume(word);
  }
  void SkipSpaces() {
    while (Peek() == ' ') ++at_;
  }
  std::string_view TakeIdentifier();
  size_t CloseOf(size_t open) {
    const size_t close = brackets_.Close(open);
    return close >= end_ ? Brackets::kNone : close;
  }

  // text_types.cc: types and what surrounds their names
  const Node* ParseType(uint32_t depth);
  void ParseQualifiers(std::string& decl);
  void ParseDeclarator(std::string& decl);
  const Node* ParseFunctionType(const Node& result, uint32_t depth);

  // text_names.cc: qualified names
  const Node* ParseQualified(uint32_t depth);
  bool EntersFunctionScope();
  const Node* ParseComponent(const Node* scope, uint32_t depth);
  void SkipBrackets();
  std::string_view TakeOperator();
  std::string_view TakeBuiltin(std::string_view first);
  const Node* TakeDecltype();
  const Node* ParseUnnamed(const Node* scope, uint32_t depth);

  // text_arguments.cc: template arguments and parameters
  void ParseList(size_t begin, size_t end, uint32_t depth, NodeList& out);
  const Node* TakeOpaqueArgument(size_t start);
  const Node* ParseArgument(uint32_t depth);
  const Node* ParseNumber();
  const Node* ParseAddress(uint32_t depth);
  const Node* ParseCast(uint32_t depth);

  std::string_view text_;
  Brackets brackets_;
  NodeFactory& factory_;
  size_t at_ = 0;
  size_t end_;
};

}  // namespace hotproof::catalog
