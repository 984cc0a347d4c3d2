#include "catalog/match/pattern.h"

#include <algorithm>
#include <span>

#include "catalog/match/pattern_terms.h"

namespace hotproof::catalog {

Pattern::Pattern(std::string_view text) : text_(text), requirement_(RequirementOf(text)) {}
Pattern::~Pattern() = default;

std::unique_ptr<const Pattern> Pattern::Compile(std::string_view text, std::string* error) {
  Compiled compiled = CompileText(text, error);
  if (!error->empty()) return nullptr;
  std::unique_ptr<Pattern> pattern(new Pattern(text));
  pattern->compiled_ = std::move(compiled);
  pattern->text_ = {};
  return pattern;
}

std::unique_ptr<const Pattern> Pattern::Later(std::string_view text) {
  return std::unique_ptr<const Pattern>(new Pattern(text));
}

const Pattern::Compiled& Pattern::compiled() const {
  std::call_once(once_, [this] {
    std::string error;
    if (compiled_.root == nullptr) compiled_ = CompileText(text_, &error);
  });
  return compiled_;
}

std::span<const Word> WordCache::Words(const Node& node) {
  for (size_t i = 0; i < count_; ++i) {
    if (nodes_[i] == &node) return words_[i].words();
  }
  WordList& words = count_ == kMaxEntries ? uncached_ : words_[count_];
  words.Split(node.text);
  if (count_ < kMaxEntries) nodes_[count_++] = &node;
  return words.words();
}

namespace {

using Term = Pattern::Term;

// Scopes deeper than this belong to no kernel that a rule is written for.
constexpr size_t kMaxComponents = 64;

class Matcher {
 public:
  Matcher(WordCache& words, Captures* captures) : words_(words), captures_(captures) {}

  bool MatchTerm(const Term& term, const Node& node) {
    const size_t captured = captures_->size();
    bool matches = false;
    switch (term.kind) {
      case Term::Kind::kAny:
      case Term::Kind::kRest:
        matches = true;
        break;
      case Term::Kind::kType:
        matches = node.kind == Node::Kind::kName && !node.is_address;
        break;
      case Term::Kind::kInteger:
        matches = MatchInteger(term, node);
        break;
      case Term::Kind::kName:
        matches = MatchName(term, node);
        break;
    }
    if (!matches) {
      captures_->resize(captured);
    } else if (!term.capture.empty()) {
      captures_->emplace_back(term.capture, &node);
    }
    return matches;
  }

 private:
  using Terms = std::span<const std::unique_ptr<Term>>;
  using Components = std::span<const Term::Component>;

  bool MatchInteger(const Term& term, const Node& node) {
    if (node.kind != Node::Kind::kLiteral) return false;
    if (term.number.has_value() && *term.number != node.text) return false;
    if (term.type == nullptr && term.number.has_value()) return true;
    if (term.type == nullptr) return node.text != "true" && node.text != "false";
    return !node.args.empty() && MatchTerm(*term.type, *node.args[0]);
  }

  bool MatchName(const Term& term, const Node& node) {
    if (node.kind != Node::Kind::kName && node.kind != Node::Kind::kLambda) return false;
    const Node* chain[kMaxComponents];
    size_t count = 0;
    for (const Node* at = &node; at != nullptr; at = at->scope) {
      if (count == kMaxComponents) return false;
      chain[count++] = at;
    }
    return MatchComponents(term.components, std::span<const Node* const>(chain, count));
  }

  // `nodes` innermost first, `components` outermost first: both are consumed from the outside.
  bool MatchComponents(Components components, std::span<const Node* const> nodes) {
    if (components.empty()) return nodes.empty();
    const auto& component = components.front();
    if (!component.any_components) {
      return !nodes.empty() && MatchComponent(component, *nodes.back()) &&
             MatchComponents(components.subspan(1), nodes.first(nodes.size() - 1));
    }
    for (size_t skip = 0; skip <= nodes.size(); ++skip) {
      const size_t captured = captures_->size();
      if (MatchComponents(components.subspan(1), nodes.first(nodes.size() - skip))) return true;
      captures_->resize(captured);
    }
    return false;
  }

  bool MatchComponent(const Term::Component& component, const Node& node) {
    if (component.lambda) return node.kind == Node::Kind::kLambda;
    if (node.kind != Node::Kind::kName) return false;
    if (component.words != nullptr) {
      if (!component.words->Matches(words_.Words(node))) return false;
    } else if (component.identifier != node.text) {
      return false;
    }
    return !component.has_args || (node.has_args && MatchArgs(component.args, node.args));
  }

  bool MatchArgs(Terms terms, Node::Args args) {
    if (terms.empty()) return args.empty();
    const Term& term = *terms.front();
    if (term.kind != Term::Kind::kRest) {
      return !args.empty() && MatchTerm(term, *args.front()) &&
             MatchArgs(terms.subspan(1), args.subspan(1));
    }
    if (terms.size() == 1) return true;
    for (size_t skip = 0; skip <= args.size(); ++skip) {
      const size_t captured = captures_->size();
      if (MatchArgs(terms.subspan(1), args.subspan(skip))) return true;
      captures_->resize(captured);
    }
    return false;
  }

  WordCache& words_;
  Captures* captures_;
};

// The components of the qualified name that `text` is, without their arguments: "a", "{b c}", "**".
std::vector<std::string_view> OuterComponents(std::string_view text) {
  const auto trim = [](std::string_view part) {
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    return part.substr(0, part.find_last_not_of(' ') + 1);
  };
  text = trim(text);
  if (text.starts_with('$')) text = trim(text.substr(text.find(':') + 1));
  std::vector<std::string_view> components;
  size_t begin = 0, end = text.npos;  // of the component; its arguments begin at the end
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const bool at_end = i == text.size();
    if (at_end || (depth == 0 && text.substr(i).starts_with("::"))) {
      components.push_back(trim(text.substr(begin, std::min(end, i) - begin)));
      begin = ++i + 1;
      end = text.npos;
    } else if (text[i] == '{') {
      i = std::min(text.find('}', i), text.size() - 1);  // words may hold anything
    } else if (text[i] == '<') {
      if (depth++ == 0) end = i;
    } else if (text[i] == '>') {
      --depth;
    }
  }
  return components;
}

std::string_view WordsOf(std::string_view component) {
  return component.substr(1, component.find('}') - 1);
}

}  // namespace

bool Pattern::Match(const Node& node, WordCache& words, Captures* captures) const {
  captures->clear();
  return Matcher(words, captures).MatchTerm(*compiled().root, node);
}

bool Pattern::MayMatch(std::string_view identifier, uint64_t word_bits) const {
  const auto& last = compiled().root->components.back();
  if (last.any_components || last.lambda) return true;
  return last.words != nullptr ? last.words->MayMatch(word_bits) : last.identifier == identifier;
}

Pattern::Requirement Pattern::RequirementOf(std::string_view text) {
  using Kind = Requirement::Kind;
  const std::vector<std::string_view> components = OuterComponents(text);
  const std::string_view first = components.front(), last = components.back();
  if (last == "**" || last == "[lambda]") return {};
  if (!last.starts_with('{')) return {Kind::kIdentifier, {HashOf(last)}};
  if (auto words = WordPattern::RequiredWords(WordsOf(last)); !words.empty()) {
    return {Kind::kWord, std::move(words)};
  }
  if (components.size() == 1 || first == "**" || first.starts_with('{')) return {};
  return {Kind::kOutermostScope, {HashOf(first)}};
}

}  // namespace hotproof::catalog
