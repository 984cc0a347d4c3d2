#include "catalog/name/parsed_name.h"

#include <algorithm>
#include <new>

#include "catalog/name/text.h"

namespace hotproof::catalog {

bool IsNamed(const Node& node, std::string_view path) {
  const Node* at = &node;
  while (at != nullptr && at->kind == Node::Kind::kName) {
    if (!ConsumeSuffix(&path, at->text)) return false;
    at = at->scope;
    if (path.empty()) return at == nullptr;
    if (!ConsumeSuffix(&path, "::")) return false;
  }
  return false;
}

bool IntegerValue(const Node& node, int64_t* value) {
  return node.kind == Node::Kind::kLiteral && ParseInteger(node.text, value);
}

namespace {

// Kineto's and nsys' names for copies and fills.
bool IsMemoryActivity(std::string_view text) {
  for (std::string_view prefix :
       {"Memcpy ", "Memset ", "[CUDA memcpy", "[CUDA memset", "[CUDA Unified Memory memcpy"}) {
    if (text.starts_with(prefix)) return true;
  }
  return text == "Memset" || text == "Memcpy";
}

// Room for the longest real names (2,161 characters print to 6,000) and a bound on hostile ones.
uint32_t MaxSize(size_t length) {
  return static_cast<uint32_t>(std::min<size_t>(64 * length + 4096, 1u << 28));
}

}  // namespace

ParsedName::ParsedName(std::string_view text) : text_(Strip(text)) {
  if (IsMemoryActivity(text_)) {
    is_memory_activity_ = true;
    return;
  }
  NodeFactory factory(&memory_, MaxSize(text_.size()));
  root_ = text_.starts_with("_Z") ? ParseItanium(text_, factory) : ParseText(text_, factory);
}

Node* NodeFactory::Keep(const Node& node) {
  uint64_t size = 1 + node.text.size() + node.decl.size();
  uint32_t depth = 0;
  if (node.scope != nullptr) {
    size += node.scope->size;
    depth = node.scope->depth;
  }
  for (const Node* arg : node.args) {
    size += arg->size;
    depth = std::max(depth, arg->depth + 1);
  }
  if (size > max_size_ || depth > kMaxTreeDepth || text_bytes_ > max_size_) return nullptr;
  Node* kept = Copy(node);
  kept->size = static_cast<uint32_t>(size);
  kept->depth = depth;
  return kept;
}

Node* NodeFactory::Make(Node::Kind kind, std::string_view text, const Node* scope,
                        Node::Args args) {
  Node node;
  node.kind = kind;
  node.text = text;
  node.scope = scope;
  return args.empty() ? Keep(node) : WithArgs(node, args);
}

Node* NodeFactory::MakeTemplate(std::string_view text, const Node* scope, Node::Args args) {
  Node node;
  node.kind = Node::Kind::kName;
  node.text = text;
  node.scope = scope;
  return WithArgs(node, args);
}

Node* NodeFactory::WithArgs(const Node& node, Node::Args args) {
  Node copy = node;
  copy.has_args = node.kind == Node::Kind::kName;
  if (!args.empty()) {
    auto* storage = static_cast<const Node**>(
        memory_->allocate(args.size() * sizeof(const Node*), alignof(const Node*)));
    std::copy(args.begin(), args.end(), storage);
    copy.args = Node::Args(storage, args.size());
  }
  return Keep(copy);
}

Node* NodeFactory::WithDecl(const Node& node, std::string_view suffix) {
  Node copy = node;
  copy.decl = Concat(node.decl, suffix);
  return Keep(copy);
}

Node* NodeFactory::Copy(const Node& node) {
  return new (memory_->allocate(sizeof(Node), alignof(Node))) Node(node);
}

std::string_view NodeFactory::Save(std::string_view text) { return Concat(text, ""); }

std::string_view NodeFactory::Concat(std::string_view a, std::string_view b) {
  if (a.empty() && b.empty()) return {};
  text_bytes_ += a.size() + b.size();
  if (text_bytes_ > max_size_) return {};  // Keep refuses from here on
  auto* storage = static_cast<char*>(memory_->allocate(a.size() + b.size(), 1));
  std::copy(b.begin(), b.end(), std::copy(a.begin(), a.end(), storage));
  return {storage, a.size() + b.size()};
}

}  // namespace hotproof::catalog
