#include "catalog/rule_set.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "catalog/name/text.h"
#include "catalog/rule_checks.h"
#include "catalog/rule_fields.h"

namespace hotproof::catalog {
namespace {

constexpr char kSeePatterns[] = "; docs/catalog.md says how a pattern is written";

absl::Status Invalid(const std::string& message) { return absl::InvalidArgumentError(message); }

// A plain C identifier: no scope, arguments or parameters.
bool IsPlain(const ParsedName& name) { return name.root()->text == name.text(); }

std::unique_ptr<const Pattern> CompilePattern(std::string_view text, bool trusted,
                                              std::string* error) {
  return trusted ? Pattern::Later(text) : Pattern::Compile(text, error);
}

absl::Status CompilePatterns(const google::protobuf::RepeatedPtrField<std::string>& texts,
                             bool trusted, const std::string& where,
                             std::vector<std::unique_ptr<const Pattern>>* out) {
  out->reserve(static_cast<size_t>(texts.size()));
  for (const std::string& text : texts) {
    std::string error;
    auto pattern = CompilePattern(text, trusted, &error);
    if (pattern == nullptr) return Invalid(where + error + kSeePatterns);
    out->push_back(std::move(pattern));
  }
  return absl::OkStatus();
}

// `entries`: what has name patterns, in the order in which it is tried.
template <typename Entries>
PatternIndex IndexOf(const Entries& entries) {
  PatternIndex index;
  for (size_t i = 0; i < entries.size(); ++i) {
    for (const auto& pattern : entries[i].names) index.Add(*pattern, i);
  }
  return index;
}

}  // namespace

absl::StatusOr<CompiledRules::CompiledRule> CompiledRules::Compile(const Rule& rule, bool trusted) {
  CompiledRule compiled;
  compiled.rule = &rule;
  if (rule.id().empty()) return Invalid("a rule without id; give it one");
  const std::string where = "rule \"" + rule.id() + "\": ";
  if (rule.name().empty()) return Invalid(where + "no name pattern; add name: \"...\"");
  if (auto status = CompilePatterns(rule.name(), trusted, where, &compiled.names); !status.ok())
    return status;
  if (auto status = CompilePatterns(rule.except(), trusted, where, &compiled.exceptions);
      !status.ok())
    return status;
  if (!trusted) {
    if (auto status = CheckFields(rule, compiled.names, where); !status.ok()) return status;
  }
  if (!rule.path().empty()) {
    const auto path = PathField(rule.path(), where);
    if (!path.ok()) return path.status();
    compiled.path = *path;
  }
  if (rule.kind().empty())
    return Invalid(where + "no kind; add kind: \"gemm\" or another (docs/catalog.md)");
  const auto kind = KindField("kind", rule.kind(), where);
  if (!kind.ok()) return kind.status();
  compiled.kind = *kind;
  if (!rule.kind_in_call().empty()) {
    const auto kind_in_call = KindField("kind_in_call", rule.kind_in_call(), where);
    if (!kind_in_call.ok()) return kind_in_call.status();
    compiled.kind_in_call = *kind_in_call;
  }
  return compiled;
}

absl::StatusOr<CompiledRules::CompiledOwner> CompiledRules::CompileOwner(const OwnerRule& rule,
                                                                         bool trusted) {
  CompiledOwner compiled;
  compiled.rule = &rule;
  const std::string where = "owner \"" + rule.id() + "\": ";
  if (rule.id().empty()) return Invalid("an owner without id; give it one");
  if (rule.name().empty()) return Invalid(where + "no name pattern; add name: \"...\"");
  if (auto status = CompilePatterns(rule.name(), trusted, where, &compiled.names); !status.ok())
    return status;
  if (auto status = CompilePatterns(rule.except(), trusted, where, &compiled.exceptions);
      !status.ok())
    return status;
  if (rule.path().empty())
    return Invalid(where + "no path; add path: \"custom\" or another (docs/catalog.md)");
  const auto path = PathField(rule.path(), where);
  if (!path.ok()) return path.status();
  compiled.path = *path;
  for (const std::string& text : rule.not_kind()) {
    const auto kind = KindField("not_kind", text, where);
    if (!kind.ok()) return kind.status();
    compiled.not_kinds.push_back(*kind);
  }
  return compiled;
}

absl::Status CompiledRules::Add(RuleSet rules, const std::string& source) {
  return AddRules(std::move(rules), source, /*trusted=*/false);
}

absl::Status CompiledRules::AddTrusted(RuleSet rules, const std::string& source) {
  return AddRules(std::move(rules), source, /*trusted=*/true);
}

absl::Status CompiledRules::AddRules(RuleSet added, const std::string& source, bool trusted) {
  sources_.push_back(std::make_unique<const RuleSet>(std::move(added)));
  const RuleSet& rules = *sources_.back();
  const auto in_source = [&source](const absl::Status& status) {
    return Invalid(source + ": " + std::string(status.message()));
  };
  absl::flat_hash_set<std::string_view> ids;
  for (const Rule& rule : rules.rule()) {
    if (!ids.insert(rule.id()).second) {
      return in_source(Invalid("rule \"" + rule.id() + "\" is there twice; give each its own id"));
    }
    auto compiled = Compile(rule, trusted);
    if (!compiled.ok()) return in_source(compiled.status());
    for (const auto& pattern : compiled->names) rule_index_.Add(*pattern, rules_.size());
    rules_.push_back(*std::move(compiled));
  }
  for (const OwnerRule& owner : rules.owner()) {
    auto compiled = CompileOwner(owner, trusted);
    if (!compiled.ok()) return in_source(compiled.status());
    for (const auto& pattern : compiled->names) owner_index_.Add(*pattern, owners_.size());
    owners_.push_back(*std::move(compiled));
  }
  for (const TypeRule& type : rules.type()) {
    std::string error;
    auto pattern = CompilePattern(type.name(), trusted, &error);
    if (pattern == nullptr) return in_source(Invalid("type: " + error + kSeePatterns));
    if (!trusted) {
      const auto status = CheckDtype("dtype", type.dtype(), "type \"" + type.name() + "\": ");
      if (!status.ok()) return in_source(status);
    }
    type_index_.Add(*pattern, types_.size());
    types_.push_back({std::move(pattern), type.dtype()});
  }
  for (const ScalarTypeRule& scalar : rules.scalar_type()) {
    if (!trusted) {
      const std::string where = "scalar_type " + std::to_string(scalar.id()) + ": ";
      const auto status = CheckDtype("dtype", scalar.dtype(), where);
      if (!status.ok()) return in_source(status);
    }
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
  std::string dtype;
  type_index_.FirstMatch(node, words, [&](size_t type, const Captures&) {
    dtype = types_[type].dtype;
    return true;
  });
  return dtype;
}

std::string CompiledRules::ElementDtype(const Node& function) const {
  for (const Node* arg : function.args) {
    if (arg->kind != Node::Kind::kName || arg->is_address) continue;
    std::string dtype = DtypeOf(*arg);
    if (dtype.starts_with("bf") || dtype.starts_with("fp") || dtype.starts_with("e")) return dtype;
  }
  return "";
}

std::string CompiledRules::DtypeField(const std::string& field, const Captures& captures) const {
  const auto capture = CaptureName(field);
  if (!capture.has_value()) return field;
  if (*capture == kElement) return ElementDtype(*FindCapture(captures, kFunction));
  const Node* node = FindCapture(captures, *capture);
  return node == nullptr ? "" : DtypeOf(*node);
}

bool CompiledRules::ReadGrammar(const CompiledRule& rule, const ParsedName& name,
                                const Captures& captures, KernelClass* out) const {
  // Where the tokens are: what "$kernel" captured, or the function's identifier.
  const Node* kernel = FindCapture(captures, "kernel");
  const Node& subject = kernel != nullptr ? *kernel : *name.root();
  switch (rule.rule->grammar()) {
    case NVJET:
      return ReadNvjet(subject.text, out);
    case XMMA:
      return ReadXmma(subject.text, out);
    case CUTLASS_NAME:
      return ReadCutlassName(subject.text, out);
    case TRTLLM_GEN:
      return ReadTrtllmGen(subject.text, out);
    case MATMUL_OGS:
      return ReadMatmulOgs(subject.text, out);
    case TOKENS:
      return ReadTokens(subject.text, out);
    case CUTLASS_2X:
      return ReadCutlass2x(subject, *this, out);
    case CUTLASS_3X:
      return ReadCutlass3x(subject, *this, out);
    default:
      return true;
  }
}

bool CompiledRules::Excepted(const Patterns& exceptions, Subject& subject) {
  const Node& root = *subject.name.root();
  Captures ignored;
  return std::any_of(exceptions.begin(), exceptions.end(), [&](const auto& pattern) {
    return pattern->Match(root, subject.words, &ignored);
  });
}

const CompiledRules::CompiledOwner* CompiledRules::FindOwner(Subject& subject, Kind kind) const {
  const CompiledOwner* found = nullptr;
  owner_index_.FirstMatch(*subject.name.root(), subject.words, [&](size_t number, const Captures&) {
    const CompiledOwner& owner = owners_[number];
    if (owner.rule->plain() && !subject.plain) return false;
    if (std::count(owner.not_kinds.begin(), owner.not_kinds.end(), kind) > 0) return false;
    if (Excepted(owner.exceptions, subject)) return false;
    found = &owner;
    return true;
  });
  return found;
}

bool CompiledRules::Apply(const CompiledRule& rule, Subject& subject, Captures captures,
                          KernelClass* out) const {
  if (rule.rule->plain() && !subject.plain) return false;
  if (Excepted(rule.exceptions, subject)) return false;
  captures.emplace_back(kFunction, subject.name.root());
  KernelClass result;
  if (!ReadGrammar(rule, subject.name, captures, &result)) return false;
  const Rule& say = *rule.rule;
  result.kind = rule.kind;
  result.kind_in_call = rule.kind_in_call;
  result.rule = say.id();
  if (rule.path.has_value()) {
    result.path = *rule.path;
  } else {
    const CompiledOwner* owner = FindOwner(subject, rule.kind);
    // A product that nobody owns can be the user's, and so can any plain C name: they stay unknown.
    const bool anybodys = rule.kind == Kind::kGemm || subject.plain;
    const Path unowned = anybodys ? Path::kUnknown : Path::kOther;
    result.path = owner == nullptr ? unowned : owner->path;
  }
  if (!say.a_dtype().empty()) result.a_dtype = DtypeField(say.a_dtype(), captures);
  if (say.b_dtype() == kSameAsA) {
    result.b_dtype = result.a_dtype;
  } else if (!say.b_dtype().empty()) {
    result.b_dtype = DtypeField(say.b_dtype(), captures);
  }
  if (!say.d_dtype().empty()) result.d_dtype = DtypeField(say.d_dtype(), captures);
  if (!say.scaling().empty()) result.scaling = say.scaling();
  result.other_scaling = say.other_scaling();
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
  Subject subject{name, IsPlain(name), {}};
  const bool applied = rule_index_.FirstMatch(
      *name.root(), subject.words, [&](size_t rule, const Captures& captures) {
        return Apply(rules_[rule], subject, captures, &result);
      });
  if (applied) return result;
  if (const CompiledOwner* owner = FindOwner(subject, Kind::kOther)) {
    result.path = owner->path;
    result.rule = owner->rule->id();
  }
  return result;
}

std::vector<std::string> CompiledRules::RuleIds() const {
  std::vector<std::string> ids;
  for (const auto& rule : rules_) ids.push_back(rule.rule->id());
  for (const auto& owner : owners_) ids.push_back(owner.rule->id());
  return ids;
}

void CompiledRules::Remove(std::string_view id) {
  std::erase_if(rules_, [id](const auto& rule) { return rule.rule->id() == id; });
  std::erase_if(owners_, [id](const auto& owner) { return owner.rule->id() == id; });
  rule_index_ = IndexOf(rules_);
  owner_index_ = IndexOf(owners_);
}

}  // namespace hotproof::catalog
