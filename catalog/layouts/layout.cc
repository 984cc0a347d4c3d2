#include "catalog/layouts/layout.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

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

// The first slots of every layout: what AddKnown may add, then what a reading has.
enum KnownSlot : uint32_t {
  kGridX,
  kGridY,
  kGridZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kGrid,
  kTilesM,
  kTilesN,
  kSwappedTilesM,
  kSwappedTilesN,
  kPaddedK,
  kM,
  kN,
  kK,
  kBatch,
  kLda,
  kLdb,
  kLdd,
  kAScales,
  kBScales,
};
constexpr std::pair<const char*, KnownSlot> kAddedNames[] = {{"grid_x", kGridX},
                                                             {"grid_y", kGridY},
                                                             {"grid_z", kGridZ},
                                                             {"block_x", kBlockX},
                                                             {"block_y", kBlockY},
                                                             {"block_z", kBlockZ},
                                                             {"grid", kGrid},
                                                             {"tiles_m", kTilesM},
                                                             {"tiles_n", kTilesN},
                                                             {"swapped_tiles_m", kSwappedTilesM},
                                                             {"swapped_tiles_n", kSwappedTilesN},
                                                             {"padded_k", kPaddedK}};
constexpr std::pair<const char*, KnownSlot> kReadNames[] = {
    {"m", kM},     {"n", kN},     {"k", kK},    {"batch", kBatch},
    {"lda", kLda}, {"ldb", kLdb}, {"ldd", kLdd},
    {"a_scales", kAScales}, {"b_scales", kBScales}};
constexpr uint32_t kKnownSlots = kBScales + 1;

// The slot of `name`: a new one unless it has one.
template <typename Names>
uint32_t SlotFor(const std::string& name, uint32_t& slots, Names& names) {
  const auto [at, is_new] = names.try_emplace(name, slots);
  if (is_new) {
    for (const auto& [known, slot] : kReadNames) {
      if (name == known) return at->second = slot;
    }
    ++slots;
  }
  return at->second;
}

using KnownValues = std::vector<std::optional<int64_t>>;

// What is set keeps its value: fields before what is derived from them.
void SetIfNew(KnownValues& values, uint32_t slot, int64_t value) {
  if (!values[slot]) values[slot] = value;
}

void AddKnown(const LaunchEvidence& evidence, const std::string& tile_text, KnownValues& values) {
  for (uint32_t axis = 0; axis < 3; ++axis) {
    SetIfNew(values, kGridX + axis, evidence.grid[axis]);
    SetIfNew(values, kBlockX + axis, evidence.block[axis]);
  }
  int64_t grid;
  if (!__builtin_mul_overflow(int64_t{evidence.grid[0]} * evidence.grid[1],
                              int64_t{evidence.grid[2]}, &grid)) {
    SetIfNew(values, kGrid, grid);
  }
  const std::vector<int64_t> tile = TileExtents(tile_text);
  if (const auto m = values[kM], n = values[kN]; tile.size() >= 2 && m && n) {
    SetIfNew(values, kTilesM, CeilDiv(*m, tile[0]));
    SetIfNew(values, kTilesN, CeilDiv(*n, tile[1]));
    SetIfNew(values, kSwappedTilesM, CeilDiv(*m, tile[1]));
    SetIfNew(values, kSwappedTilesN, CeilDiv(*n, tile[0]));
  }
  if (const auto k = values[kK]; tile.size() >= 3 && k) {
    SetIfNew(values, kPaddedK, CeilDiv(*k, tile[2]) * tile[2]);
  }
}

}  // namespace

absl::StatusOr<CompiledLayout::Check> CompiledLayout::CompileCheck(const std::string& text,
                                                                   const Names& names) {
  Check check;
  check.text = text;
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  std::string unknown;
  const auto operand = [&](const std::string& word) {
    Operand result;
    if (absl::SimpleAtoi(word, &result.number)) return result;
    const auto found = names.find(word);
    if (found != names.end()) {
      result.slot = found->second;
    } else {
      unknown = word;
    }
    return result;
  };
  const auto invalid = [&text] {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is no check; write \"a == b\", \"a >= b\", \"a <= b\" or \"a == b | c\""));
  };
  if (words.size() < 3 || words.size() % 2 == 0) return invalid();
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
    if (!unknown.empty()) break;
  }
  if (unknown.empty()) check.left = operand(words[0]);
  if (unknown.empty()) return check;
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\": nothing is called ", unknown,
                                                 "; docs/shapes.md says what a check may name"));
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
  Names names(std::begin(kAddedNames), std::end(kAddedNames));
  uint32_t slots = kKnownSlots;
  for (const Signature::Term& term : compiled.signature_.terms()) {
    compiled.term_slots_.push_back(
        term.field.empty() ? std::nullopt : std::optional<Slot>(SlotFor(term.field, slots, names)));
  }
  for (const LayoutField& field : layout.field()) {
    const uint32_t bytes = field.bytes() == 0 ? 4 : field.bytes();
    if (field.name().empty() || (bytes != 1 && bytes != 4 && bytes != 8)) {
      return invalid("a field needs a name, and 1, 4 or 8 bytes");
    }
    compiled.fields_.push_back({field.name(), SlotFor(field.name(), slots, names),
                                field.parameter(), field.offset(), bytes, field.plus(),
                                field.optional(), field.behind_address()});
  }
  for (const std::string& text : layout.constant()) {
    const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
    int64_t value;
    if (words.size() != 3 || words[1] != "=" || !absl::SimpleAtoi(words[2], &value)) {
      return invalid("\"" + text + "\" is no constant; write \"m = 1\"");
    }
    const Slot slot = SlotFor(words[0], slots, names);
    compiled.constants_.resize(slots);
    compiled.constants_[slot] = value;
  }
  compiled.constants_.resize(slots);
  for (const std::string& text : layout.check()) {
    auto check = CompileCheck(text, names);
    if (!check.ok()) return invalid(std::string(check.status().message()));
    compiled.checks_.push_back(*std::move(check));
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
  return operand.slot ? values[*operand.slot] : operand.number;
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
  if (field.behind_address &&
      std::none_of(evidence.hidden.begin(), evidence.hidden.end(), [begin](const ByteRange& range) {
        return range.begin + 8 == begin && range.end == begin;
      })) {
    refused = absl::StrCat("there is no address before ", field.name);
    return false;
  }
  int64_t value = 0;
  if (field.bytes == 1) {
    value = static_cast<unsigned char>(evidence.arguments[begin]);
  } else if (field.bytes == 4) {
    int32_t word;
    std::memcpy(&word, evidence.arguments.data() + begin, sizeof word);
    value = word;
  } else {
    std::memcpy(&value, evidence.arguments.data() + begin, sizeof value);
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 2;
    if (value > kMost || value < -kMost) return true;  // no size: not known
  }
  SetIfNew(values, field.slot, value + field.plus);
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
    if (!term_slots_[i]) continue;
    const uint32_t bytes = evidence.parameter_sizes[(*at)[i]] >= 8 ? 8 : 4;
    if (!ReadField({term.field, *term_slots_[i], (*at)[i], 0, bytes, 0}, evidence, values,
                   reading.refused)) {
      return reading;
    }
  }
  for (const Field& field : fields_) {
    std::string refused;
    if (ReadField(field, evidence, values, refused) || field.optional) continue;
    reading.refused = std::move(refused);
    return reading;
  }
  AddKnown(evidence, kernel_class.tile, values);
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
  for (const auto& [name, slot] : kReadNames) {
    const auto value = values[slot];
    if (slot <= kBatch && value && (*value < 1 || *value > kMaxDim))
      return refuse(absl::StrCat(name, " would be ", *value));
  }
  reading.m = values[kM];
  reading.n = values[kN];
  reading.k = values[kK];
  reading.batch = values[kBatch];
  reading.lda = values[kLda];
  reading.ldb = values[kLdb];
  reading.ldd = values[kLdd];
  // Neither of two numbers: no such flag.
  const auto flag = [&values](Slot slot) {
    const auto value = values[slot];
    return value == 0 || value == 1 ? std::optional<bool>(*value == 1) : std::nullopt;
  };
  reading.a_has_scales = flag(kAScales);
  reading.b_has_scales = flag(kBScales);
  return reading;
}

}  // namespace hotproof::catalog
