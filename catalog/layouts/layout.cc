#include "catalog/layouts/layout.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/catalog.pb.h"

namespace hotproof::catalog {
namespace {

constexpr int64_t kMaxDim = std::numeric_limits<uint32_t>::max();

absl::Status CompilePatterns(const google::protobuf::RepeatedPtrField<std::string>& texts,
                             std::vector<std::shared_ptr<const Pattern>>* out) {
  for (const std::string& text : texts) {
    std::string error;
    std::shared_ptr<const Pattern> pattern = Pattern::Compile(text, &error);
    if (pattern == nullptr) return absl::InvalidArgumentError(error);
    out->push_back(std::move(pattern));
  }
  return absl::OkStatus();
}

int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// "128x16x128" -> {128, 16, 128}; as many as the name told.
std::vector<int64_t> TileExtents(const std::string& tile) {
  std::vector<int64_t> extents;
  for (const absl::string_view part : absl::StrSplit(tile, 'x')) {
    int64_t extent;
    if (!absl::SimpleAtoi(part, &extent) || extent <= 0) break;
    extents.push_back(extent);
  }
  return extents;
}

// What AddKnown may add.
constexpr const char* kKnown[] = {
    "grid_x", "grid_y",  "grid_z",  "block_x",         "block_y",         "block_z",
    "grid",   "tiles_m", "tiles_n", "swapped_tiles_m", "swapped_tiles_n", "padded_k"};

// A repeated name keeps its first value: fields before what is derived from them.
template <typename Values>
void AddKnown(const LaunchEvidence& evidence, const KernelClass& kernel_class, Values& values) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::string suffix(1, static_cast<char>('x' + axis));
    values.try_emplace("grid_" + suffix, evidence.grid[axis]);
    values.try_emplace("block_" + suffix, evidence.block[axis]);
  }
  int64_t grid;
  if (!__builtin_mul_overflow(int64_t{evidence.grid[0]} * evidence.grid[1],
                              int64_t{evidence.grid[2]}, &grid)) {
    values.try_emplace("grid", grid);
  }
  const std::vector<int64_t> tile = TileExtents(kernel_class.tile);
  const auto m = values.find("m"), n = values.find("n"), k = values.find("k");
  if (tile.size() >= 2 && m != values.end() && n != values.end()) {
    values.try_emplace("tiles_m", CeilDiv(m->second, tile[0]));
    values.try_emplace("tiles_n", CeilDiv(n->second, tile[1]));
    values.try_emplace("swapped_tiles_m", CeilDiv(m->second, tile[1]));
    values.try_emplace("swapped_tiles_n", CeilDiv(n->second, tile[0]));
  }
  if (tile.size() >= 3 && k != values.end()) {
    values.try_emplace("padded_k", CeilDiv(k->second, tile[2]) * tile[2]);
  }
}

}  // namespace

absl::StatusOr<CompiledLayout::Check> CompiledLayout::CompileCheck(const std::string& text) {
  Check check;
  check.text = text;
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  const auto operand = [](const std::string& word) {
    Operand result;
    if (!absl::SimpleAtoi(word, &result.number)) result.name = word;
    return result;
  };
  const auto invalid = [&text] {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is no check; write \"a == b\", \"a >= b\", \"a <= b\" or \"a == b | c\""));
  };
  if (words.size() < 3 || words.size() % 2 == 0) return invalid();
  check.left = operand(words[0]);
  if (words[1] == "==")
    check.op = Check::Operator::kEqual;
  else if (words[1] == ">=")
    check.op = Check::Operator::kAtLeast;
  else if (words[1] == "<=")
    check.op = Check::Operator::kAtMost;
  else
    return invalid();
  for (size_t i = 2; i < words.size(); ++i) {
    if (i % 2 == 0)
      check.right.push_back(operand(words[i]));
    else if (words[i] != "|")
      return invalid();
  }
  return check;
}

absl::StatusOr<CompiledLayout> CompiledLayout::Compile(const Layout& layout) {
  CompiledLayout compiled;
  compiled.id_ = layout.id();
  compiled.rules_.assign(layout.rule().begin(), layout.rule().end());
  if (layout.id().empty()) return absl::InvalidArgumentError("a layout without id; give it one");
  const auto invalid = [&layout](std::string_view message) {
    return absl::InvalidArgumentError(absl::StrCat(
        "layout \"", layout.id(), "\": ", absl::string_view(message.data(), message.size())));
  };
  if (layout.rule().empty()) return invalid("no rule; add rule: \"the id of a rule\"");
  if (layout.checked().empty()) return invalid("not checked: say on which version of the library");
  if (auto status = CompilePatterns(layout.name(), &compiled.names_); !status.ok())
    return invalid(std::string(status.message()));
  if (auto status = CompilePatterns(layout.except(), &compiled.exceptions_); !status.ok())
    return invalid(std::string(status.message()));
  auto signature = Signature::Compile(layout.parameters());
  if (!signature.ok()) return invalid(std::string(signature.status().message()));
  compiled.signature_ = *std::move(signature);
  for (const LayoutField& field : layout.field()) {
    const uint32_t bytes = field.bytes() == 0 ? 4 : field.bytes();
    if (field.name().empty() || (bytes != 4 && bytes != 8)) {
      return invalid("a field needs a name, and 4 or 8 bytes");
    }
    compiled.fields_.push_back(
        {field.name(), field.parameter(), field.offset(), bytes, field.plus()});
  }
  // What a check may name.
  std::set<std::string> names(std::begin(kKnown), std::end(kKnown));
  for (const Signature::Term& term : compiled.signature_.terms()) names.insert(term.field);
  for (const Field& field : compiled.fields_) names.insert(field.name);
  for (const std::string& constant : layout.constant())
    names.insert(constant.substr(0, constant.find(' ')));
  for (const std::string& text : layout.check()) {
    auto check = CompileCheck(text);
    if (!check.ok()) return invalid(std::string(check.status().message()));
    std::vector<Operand> operands = check->right;
    operands.push_back(check->left);
    for (const Operand& operand : operands) {
      if (operand.name.empty() || names.contains(operand.name)) continue;
      return invalid(absl::StrCat("\"", text, "\": nothing is called ", operand.name,
                                  "; docs/shapes.md says what a check may name"));
    }
    compiled.checks_.push_back(*std::move(check));
  }
  for (const std::string& text : layout.constant()) {
    const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
    int64_t value;
    if (words.size() != 3 || words[1] != "=" || !absl::SimpleAtoi(words[2], &value)) {
      return invalid("\"" + text + "\" is no constant; write \"m = 1\"");
    }
    compiled.constants_[words[0]] = value;
  }
  return compiled;
}

bool CompiledLayout::AppliesTo(const KernelClass& kernel_class, const Node& name,
                               WordCache& words) const {
  if (std::find(rules_.begin(), rules_.end(), kernel_class.rule) == rules_.end()) return false;
  Captures ignored;
  const auto matches = [&](const auto& pattern) { return pattern->Match(name, words, &ignored); };
  if (!names_.empty() && std::none_of(names_.begin(), names_.end(), matches)) return false;
  return std::none_of(exceptions_.begin(), exceptions_.end(), matches);
}

std::optional<int64_t> CompiledLayout::ValueOf(const Operand& operand, const Values& values) {
  if (operand.name.empty()) return operand.number;
  const auto found = values.find(operand.name);
  return found == values.end() ? std::nullopt : std::optional<int64_t>(found->second);
}

bool CompiledLayout::Passes(const Check& check, const Values& values) {
  const auto left = ValueOf(check.left, values);
  if (!left) return true;
  return std::any_of(check.right.begin(), check.right.end(), [&](const Operand& operand) {
    const auto right = ValueOf(operand, values);
    if (!right) return true;
    switch (check.op) {
      case Check::Operator::kEqual:
        return *left == *right;
      case Check::Operator::kAtLeast:
        return *left >= *right;
      case Check::Operator::kAtMost:
        return *left <= *right;
    }
    return false;
  });
}

bool CompiledLayout::ReadField(const Field& field, const LaunchEvidence& evidence, Values& values,
                               std::string& refused) const {
  if (field.parameter >= evidence.parameter_offsets.size() ||
      uint64_t{field.offset} + field.bytes > evidence.parameter_sizes[field.parameter]) {
    refused = absl::StrCat("no room for ", field.name, " in its parameter");
    return false;
  }
  const uint64_t begin = uint64_t{evidence.parameter_offsets[field.parameter]} + field.offset;
  const uint64_t end = begin + field.bytes;
  if (end > evidence.arguments.size()) {
    refused = absl::StrCat("the bytes of ", field.name, " were not kept");
    return false;
  }
  for (const ByteRange& range : evidence.hidden) {
    if (begin < range.end && range.begin < end) {
      refused = absl::StrCat(field.name, " lies in bytes that were masked");
      return false;
    }
  }
  int64_t value = 0;
  if (field.bytes == 4) {
    int32_t word;
    std::memcpy(&word, evidence.arguments.data() + begin, sizeof word);
    value = word;
  } else {
    std::memcpy(&value, evidence.arguments.data() + begin, sizeof value);
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 2;
    if (value > kMost || value < -kMost) return true;  // no size: not known
  }
  values.try_emplace(field.name, value + field.plus);
  return true;
}

std::optional<LayoutReading> CompiledLayout::Read(const LaunchEvidence& evidence,
                                                  const KernelClass& kernel_class) const {
  if (evidence.parameter_offsets.size() != evidence.parameter_sizes.size()) return std::nullopt;
  const auto at = signature_.Match(evidence.parameter_sizes);
  if (!at) return std::nullopt;
  LayoutReading reading;
  reading.layout = id_;
  if (evidence.arguments.empty()) {
    reading.refused = "the arguments were not kept";
    return reading;
  }
  Values values = constants_;
  for (size_t i = 0; i < signature_.terms().size(); ++i) {
    const Signature::Term& term = signature_.terms()[i];
    if (term.field.empty()) continue;
    const uint32_t bytes = evidence.parameter_sizes[(*at)[i]] >= 8 ? 8 : 4;
    if (!ReadField({term.field, (*at)[i], 0, bytes, 0}, evidence, values, reading.refused))
      return reading;
  }
  for (const Field& field : fields_) {
    if (!ReadField(field, evidence, values, reading.refused)) return reading;
  }
  AddKnown(evidence, kernel_class, values);
  const auto refuse = [&reading](std::string why) {
    reading.refused = std::move(why);
    reading.contradiction = true;
    return reading;
  };
  for (const Check& check : checks_) {
    if (Passes(check, values)) continue;
    const auto left = ValueOf(check.left, values);
    return refuse(absl::StrCat("\"", check.text, "\" does not hold (", left.value_or(0), ")"));
  }
  const auto dim = [&values](std::string_view name) {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional<int64_t>(found->second);
  };
  for (const char* name : {"m", "n", "k", "batch"}) {
    const auto value = dim(name);
    if (value && (*value < 1 || *value > kMaxDim))
      return refuse(absl::StrCat(name, " would be ", *value));
  }
  reading.m = dim("m");
  reading.n = dim("n");
  reading.k = dim("k");
  reading.batch = dim("batch");
  reading.lda = dim("lda");
  reading.ldb = dim("ldb");
  reading.ldd = dim("ldd");
  return reading;
}

}  // namespace hotproof::catalog
