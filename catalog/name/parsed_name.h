// A kernel's name, parsed. Owns the tree's memory; the text it was parsed from must outlive it.
// Built and used by one thread.
#pragma once

#include <memory_resource>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "catalog/name/node.h"

namespace hotproof::catalog {

// Nesting beyond this is kept as text (demangled names) or not parsed (mangled ones).
inline constexpr uint32_t kMaxDepth = 256;
// A substitution can nest a tree deeper than its text.
inline constexpr uint32_t kMaxTreeDepth = 2 * kMaxDepth;

// Arguments while they are collected.
using NodeList = absl::InlinedVector<const Node*, 8>;

class ParsedName {
 public:
  // Parses a mangled name (begins with _Z) or a demangled one. Time and memory are linear in the
  // length. A name that is neither parses to nothing: root() is null.
  explicit ParsedName(std::string_view text);
  ParsedName(const ParsedName&) = delete;
  ParsedName& operator=(const ParsedName&) = delete;

  std::string_view text() const { return text_; }
  // The outermost function: its last component.
  const Node* root() const { return root_; }
  // True for activities that are no kernel: "Memcpy HtoD (Pinned -> Device)", "[CUDA memset]".
  bool is_memory_activity() const { return is_memory_activity_; }

 private:
  std::string_view text_;
  const Node* root_ = nullptr;
  bool is_memory_activity_ = false;
  // Enough for names of 1 KB without the heap; not cleared.
  alignas(16) char inline_memory_[32 << 10];
  std::pmr::monotonic_buffer_resource memory_{inline_memory_, sizeof(inline_memory_)};
};

// Makes nodes for a parser. Every maker returns null when the node would exceed the limits.
class NodeFactory {
 public:
  // `max_size`: characters that one tree may print to.
  NodeFactory(std::pmr::memory_resource* memory, uint32_t max_size)
      : memory_(memory), max_size_(max_size) {}

  Node* Make(Node::Kind kind, std::string_view text, const Node* scope = nullptr,
             Node::Args args = {});
  // A name followed by <...>, possibly empty.
  Node* MakeTemplate(std::string_view text, const Node* scope, Node::Args args);
  // A copy of `node` that takes `args` or `decl` in addition.
  Node* WithArgs(const Node& node, Node::Args args);
  Node* WithDecl(const Node& node, std::string_view suffix);
  Node* Copy(const Node& node);
  std::string_view Save(std::string_view text);
  std::string_view Concat(std::string_view a, std::string_view b);
  std::pmr::memory_resource* memory() const { return memory_; }

 private:
  // A copy that knows its size and depth; null beyond the limits.
  Node* Keep(const Node& node);

  std::pmr::memory_resource* memory_;
  uint32_t max_size_;
  uint64_t text_bytes_ =
      0;  // handed out in all: a name could ask for its own length again and again
};

// The two parsers behind ParsedName. Each returns the outermost function or null.
const Node* ParseItanium(std::string_view mangled, NodeFactory& factory);
const Node* ParseText(std::string_view demangled, NodeFactory& factory);

// One spelling for every printer: no result type, no parameters, no spaces that carry nothing.
std::string PrintCanonical(const Node& node);

}  // namespace hotproof::catalog
