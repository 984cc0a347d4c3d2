#include "catalog/rule_set.h"

#include <algorithm>
#include <optional>
#include <set>

#include "catalog/name/text.h"

namespace hotproof::catalog {
namespace {

absl::Status Invalid(const std::string& message) { return absl::InvalidArgumentError(message); }

const Node* Find(const Captures& captures, std::string_view name) {
  for (const auto& [known, node] : captures) {
    if (known == name) return node;
  }
  return nullptr;
}

// "$bm" -> "bm"; nothing for a constant.
// Every match captures the function itself under this name.
constexpr char kFunction[] = "function";

std::optional<std::string_view> CaptureName(std::string_view field) {
  if (!ConsumePrefix(&field, "$")) return std::nullopt;
  return field;
}

// An extent of the GEMM; 0 is how kernels spell "known at run time".
std::optional<int64_t> ExtentField(std::string_view field, const Captures& captures) {
  int64_t value = 0;
  if (const auto capture = CaptureName(field)) {
    const Node* node = Find(captures, *capture);
    if (node == nullptr || !IntegerValue(*node, &value)) return std::nullopt;
  } else if (!ParseInteger(field, &value)) {
    return std::nullopt;
  }
  return value > 0 ? std::optional<int64_t>(value) : std::nullopt;
}

// "$tile", or extents joined by 'x': "$bm x $bn x 128". "" if one of them is not known.
std::string TileField(std::string_view field, const Captures& captures) {
  std::string tile;
  while (!field.empty()) {
    const size_t end = std::min(field.find(" x "), field.size());
    const std::string_view part = field.substr(0, end);
    field.remove_prefix(std::min(end + 3, field.size()));
    std::string text(part);
    if (const auto capture = CaptureName(part)) {
      const Node* node = Find(captures, *capture);
      if (node == nullptr) return "";
      const auto extent = ExtentField(part, captures);
      text = extent.has_value() ? std::to_string(*extent) : TileOf(*node);
    }
    if (text.empty()) return "";
    if (!tile.empty()) tile += 'x';
    tile += text;
  }
  return tile;
}

// "sm90" of the name that was captured, the innermost identifier first.
std::string ArchField(const std::string& field, const Captures& captures) {
  const auto capture = CaptureName(field);
  if (!capture.has_value()) return field;
  for (const Node* at = Find(captures, *capture); at != nullptr; at = at->scope) {
    for (const std::string& word : SplitWords(at->text)) {
      if (word.size() > 3 && word.starts_with("sm") && IsDigit(word[2])) return word;
    }
  }
  return "";
}

// A plain C identifier: no scope, arguments or parameters.
bool IsPlain(const ParsedName& name) { return name.root()->text == name.text(); }

}  // namespace

absl::StatusOr<std::unique_ptr<CompiledRules::CompiledRule>> CompiledRules::Compile(
    const Rule& rule) const {
  auto compiled = std::make_unique<CompiledRule>();
  compiled->rule = rule;
  if (rule.id().empty()) return Invalid("a rule without id; give it one");
  const std::string where = "rule \"" + rule.id() + "\": ";
  if (rule.name().empty()) return Invalid(where + "no name pattern; add name: \"...\"");
  std::set<std::string> known = {kFunction};
  for (const std::string& text : rule.name()) {
    std::string error;
    auto pattern = Pattern::Compile(text, &error);
    if (pattern == nullptr) return Invalid(where + error);
    known.insert(pattern->capture_names().begin(), pattern->capture_names().end());
    compiled->names.push_back(std::move(pattern));
  }
  for (const std::string& text : rule.except()) {
    std::string error;
    auto pattern = Pattern::Compile(text, &error);
    if (pattern == nullptr) return Invalid(where + error);
    compiled->exceptions.push_back(std::move(pattern));
  }
  const auto path = ParsePath(rule.path());
  if (!path.has_value() && !rule.path().empty()) {
    return Invalid(where + "unknown path \"" + rule.path() +
                   "\"; see docs/catalog.md for the paths");
  }
  const auto kind = ParseKind(rule.kind());
  if (!kind.has_value()) {
    return Invalid(where + "unknown kind \"" + rule.kind() +
                   "\"; see docs/catalog.md for the kinds");
  }
  compiled->path = path.value_or(Path::kUnknown);
  compiled->kind = *kind;
  for (const std::string* field : {&rule.a_dtype(), &rule.b_dtype(), &rule.tile(), &rule.m(),
                                   &rule.n(), &rule.k(), &rule.arch()}) {
    std::string_view rest = *field;
    for (size_t at = rest.find('$'); at != std::string_view::npos; at = rest.find('$')) {
      rest.remove_prefix(at + 1);
      const std::string capture(rest.substr(0, rest.find(' ')));
      if (!known.contains(capture)) {
        return Invalid(where + "$" + capture + " is captured by no name pattern");
      }
    }
  }
  return compiled;
}

absl::Status CompiledRules::Add(const RuleSet& rules, const std::string& source) {
  for (const Rule& rule : rules.rule()) {
    auto compiled = Compile(rule);
    if (!compiled.ok()) return Invalid(source + ": " + std::string(compiled.status().message()));
    rules_.push_back(*std::move(compiled));
  }
  for (const TypeRule& type : rules.type()) {
    std::string error;
    auto pattern = Pattern::Compile(type.name(), &error);
    if (pattern == nullptr) return Invalid(source + ": type: " + error);
    types_.push_back({std::move(pattern), type.dtype()});
  }
  for (const ScalarTypeRule& scalar : rules.scalar_type()) {
    scalar_types_.emplace(scalar.id(), scalar.dtype());
  }
  return absl::OkStatus();
}

std::string CompiledRules::DtypeOf(const Node& node) const {
  int64_t id;
  if (IntegerValue(node, &id)) {
    const auto found = scalar_types_.find(id);
    return found == scalar_types_.end() ? "" : found->second;
  }
  if (node.kind != Node::Kind::kName) return "";
  WordCache words;
  Captures ignored;
  for (const CompiledType& type : types_) {
    if (type.pattern->MayMatch(node.text, ~uint64_t{0}) &&
        type.pattern->Match(node, words, &ignored)) {
      return type.dtype;
    }
  }
  return "";
}

std::string CompiledRules::DtypeField(const std::string& field, const Captures& captures) const {
  const auto capture = CaptureName(field);
  if (!capture.has_value()) return field;
  const Node* node = Find(captures, *capture);
  return node == nullptr ? "" : DtypeOf(*node);
}

bool CompiledRules::ReadGrammar(const CompiledRule& rule, const ParsedName& name,
                                const Captures& captures, KernelClass* out) const {
  // Where the tokens are: what "$kernel" captured, or the function's identifier.
  const Node* kernel = Find(captures, "kernel");
  const Node& subject = kernel != nullptr ? *kernel : *name.root();
  switch (rule.rule.grammar()) {
    case NVJET:
      return ReadNvjet(subject.text, out);
    case XMMA:
      return ReadXmma(subject.text, out);
    case CUTLASS_NAME:
      return ReadCutlassName(subject.text, out);
    case TRTLLM_GEN:
      return ReadTrtllmGen(subject.text, out);
    case CUTLASS_2X:
      return ReadCutlass2x(subject, *this, out);
    case CUTLASS_3X:
      return ReadCutlass3x(subject, *this, out);
    default:
      return true;
  }
}

bool CompiledRules::Apply(const CompiledRule& rule, const ParsedName& name, WordCache& words,
                          uint64_t word_bits, KernelClass* out) const {
  const Node& root = *name.root();
  if (rule.rule.plain() && !IsPlain(name)) return false;
  const auto matches = [&](const std::unique_ptr<const Pattern>& pattern, Captures* captures) {
    return pattern->MayMatch(root.text, word_bits) && pattern->Match(root, words, captures);
  };
  Captures captures;
  if (!std::any_of(rule.names.begin(), rule.names.end(),
                   [&](const auto& pattern) { return matches(pattern, &captures); })) {
    return false;
  }
  Captures ignored;
  if (std::any_of(rule.exceptions.begin(), rule.exceptions.end(),
                  [&](const auto& pattern) { return matches(pattern, &ignored); })) {
    return false;
  }
  captures.emplace_back(kFunction, &root);
  KernelClass result;
  if (!ReadGrammar(rule, name, captures, &result)) return false;
  const Rule& say = rule.rule;
  result.path = rule.path;
  result.kind = rule.kind;
  result.rule = say.id();
  if (!say.a_dtype().empty()) result.a_dtype = DtypeField(say.a_dtype(), captures);
  if (!say.b_dtype().empty()) result.b_dtype = DtypeField(say.b_dtype(), captures);
  if (!say.scaling().empty()) result.scaling = say.scaling();
  if (!say.tile().empty()) result.tile = TileField(say.tile(), captures);
  if (!say.m().empty()) result.m = ExtentField(say.m(), captures);
  if (!say.n().empty()) result.n = ExtentField(say.n(), captures);
  if (!say.k().empty()) result.k = ExtentField(say.k(), captures);
  if (!say.arch().empty()) result.arch = ArchField(say.arch(), captures);
  *out = std::move(result);
  return true;
}

KernelClass CompiledRules::Classify(const ParsedName& name) const {
  KernelClass result;
  if (name.is_memory_activity()) {
    result.path = Path::kOther;
    result.kind = Kind::kMemory;
    result.scaling = "none";
    result.rule = "activity.memory";
    return result;
  }
  if (name.root() == nullptr) return result;
  WordCache words;
  const uint64_t word_bits = WordBits(words.Words(*name.root()));
  for (const auto& rule : rules_) {
    if (Apply(*rule, name, words, word_bits, &result)) return result;
  }
  return result;
}

std::vector<std::string> CompiledRules::RuleIds() const {
  std::vector<std::string> ids;
  for (const auto& rule : rules_) ids.push_back(rule->rule.id());
  return ids;
}

void CompiledRules::Remove(std::string_view id) {
  std::erase_if(rules_, [id](const auto& rule) { return rule->rule.id() == id; });
}

}  // namespace hotproof::catalog
