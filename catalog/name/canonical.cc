// Prints a parsed name in the one spelling that all printers' names share.
#include "catalog/name/parsed_name.h"

namespace hotproof::catalog {
namespace {

void Print(const Node& node, std::string& out);

void PrintList(Node::Args args, std::string& out) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (i > 0) out += ", ";
    Print(*args[i], out);
  }
}

void PrintComponent(const Node& node, std::string& out) {
  if (node.kind == Node::Kind::kLambda) {
    out += "{lambda(";
    PrintList(node.args, out);
    out.append(")#").append(node.text).append("}");
    return;
  }
  out += node.text;
  if (node.has_args) {
    out += '<';
    PrintList(node.args, out);
    out += '>';
  }
  if (node.is_function) out += "()";
}

void PrintQualified(const Node& node, std::string& out) {
  std::vector<const Node*> chain;
  for (const Node* at = &node; at != nullptr; at = at->scope) chain.push_back(at);
  if (node.is_address) out += '&';
  for (size_t i = chain.size(); i-- > 0;) {
    PrintComponent(*chain[i], out);
    if (i > 0) out += "::";
  }
  out += node.decl;
}

void Print(const Node& node, std::string& out) {
  switch (node.kind) {
    case Node::Kind::kName:
    case Node::Kind::kLambda:
      PrintQualified(node, out);
      return;
    case Node::Kind::kLiteral:
      if (!node.args.empty()) {
        out += '(';
        Print(*node.args[0], out);
        out += ')';
      }
      out.append(node.text).append(node.decl);
      return;
    case Node::Kind::kFunction:
      if (!node.args.empty()) Print(*node.args[0], out);
      out += ' ';
      if (!node.decl.empty()) out.append("(").append(node.decl).append(")");
      out += '(';
      if (node.args.size() > 1) PrintList(node.args.subspan(1), out);
      out += ')';
      return;
    case Node::Kind::kOpaque:
      out.append(node.text).append(node.decl);
      return;
  }
}

}  // namespace

std::string PrintCanonical(const Node& node) {
  std::string out;
  Print(node, out);
  return out;
}

}  // namespace hotproof::catalog
