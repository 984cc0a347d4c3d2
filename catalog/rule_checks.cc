#include "catalog/rule_checks.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "catalog/meant_name.h"
#include "catalog/name/text.h"
#include "catalog/rule_fields.h"
#include "proto/catalog.pb.h"

namespace hotproof::catalog {
namespace {

using CaptureNames = std::set<std::string, std::less<>>;

absl::Status Invalid(const std::string& message) { return absl::InvalidArgumentError(message); }

absl::Status Unknown(const std::string& where, const std::string& field, const std::string& text,
                     const std::vector<std::string>& names) {
  return Invalid(where + UnknownName(field, text, names));
}

absl::Status CheckCapture(std::string_view capture, const CaptureNames& known,
                          const std::string& where) {
  if (known.contains(capture)) return absl::OkStatus();
  return Invalid(absl::StrCat(where, "$", std::string(capture),
                              " is captured by no name pattern; write it in the pattern where its "
                              "value stands, or give a constant"));
}

// A whole number above 0.
bool IsExtent(std::string_view text) {
  int64_t value = 0;
  return ParseInteger(text, &value) && value > 0;
}

absl::Status CheckExtent(const std::string& field, const std::string& text,
                         const CaptureNames& known, const std::string& where) {
  if (const auto capture = CaptureName(text)) return CheckCapture(*capture, known, where);
  if (text.empty() || IsExtent(text)) return absl::OkStatus();
  return Invalid(where + field + " '" + text +
                 "' is no extent; give a number above 0, or the name of a capture ($" + field +
                 ")");
}

absl::Status CheckTile(const std::string& text, const CaptureNames& known,
                       const std::string& where) {
  if (text.empty()) return absl::OkStatus();
  const std::vector<std::string> parts = absl::StrSplit(text, " x ");
  for (const std::string& part : parts) {
    if (const auto capture = CaptureName(part)) {
      if (auto status = CheckCapture(*capture, known, where); !status.ok()) return status;
    } else if (!IsExtent(part)) {
      return Invalid(where + "tile '" + text +
                     "' is no tile; write it like \"$bm x $bn x 64\", of captures and numbers");
    }
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<std::string>& DtypeNames() {
  static const std::vector<std::string> names = {
      "fp64", "fp32", "tf32",   "bf16",   "fp16",   "fp8",   "e4m3",   "e5m2",   "ue4m3", "e8m0",
      "fp6",  "e3m2", "e2m3",   "fp4",    "e2m1",   "nvfp4", "mxfp4",  "int64",  "int32", "int16",
      "int8", "int4", "uint64", "uint32", "uint16", "uint8", "u8",     "u8b128", "u4",    "u4b8",
      "u2",   "bool", "cfp64",  "cfp32",  "cfp16",  "cbf16", "cint32", "cint8",  "cuint8"};
  return names;
}

const std::vector<std::string>& ScalingNames() {
  static const std::vector<std::string> names = {
      "block", "tensor", "token_channel", "token", "channel", "group", "mx", "none"};
  return names;
}

bool IsArchitecture(std::string_view text) {
  if (!ConsumePrefix(&text, "sm")) return false;
  if (text.ends_with('a') || text.ends_with('f')) text.remove_suffix(1);
  return text.size() >= 2 && text.size() <= 3 && std::all_of(text.begin(), text.end(), IsDigit);
}

absl::Status CheckDtype(const std::string& field, const std::string& text,
                        const std::string& where) {
  const std::vector<std::string>& names = DtypeNames();
  if (std::find(names.begin(), names.end(), text) != names.end()) return absl::OkStatus();
  return Unknown(where, field, text, names);
}

absl::StatusOr<Path> PathField(const std::string& text, const std::string& where) {
  if (const auto path = ParsePath(text)) return *path;
  return Unknown(where, "path", text, PathNames());
}

absl::StatusOr<Kind> KindField(const std::string& field, const std::string& text,
                               const std::string& where) {
  if (const auto kind = ParseKind(text)) return *kind;
  return Unknown(where, field, text, KindNames());
}

absl::Status CheckFields(const Rule& rule, const std::vector<std::unique_ptr<const Pattern>>& names,
                         const std::string& where) {
  CaptureNames known = {std::string(kFunction), std::string(kElement)};
  for (const auto& pattern : names)
    known.insert(pattern->capture_names().begin(), pattern->capture_names().end());
  using Field = std::pair<const char*, const std::string*>;
  for (const auto& [field, text] : {Field{"a_dtype", &rule.a_dtype()},
                                    {"b_dtype", &rule.b_dtype()},
                                    {"d_dtype", &rule.d_dtype()}}) {
    if (text->empty() || (text == &rule.b_dtype() && *text == kSameAsA)) continue;
    const auto capture = CaptureName(*text);
    const absl::Status status =
        capture ? CheckCapture(*capture, known, where) : CheckDtype(field, *text, where);
    if (!status.ok()) return status;
  }
  for (const auto& [field, text] :
       {Field{"scaling", &rule.scaling()}, {"other_scaling", &rule.other_scaling()}}) {
    const std::vector<std::string>& all = ScalingNames();
    if (!text->empty() && std::find(all.begin(), all.end(), *text) == all.end())
      return Unknown(where, field, *text, all);
  }
  for (const auto& [field, text] : {Field{"m", &rule.m()}, {"n", &rule.n()}, {"k", &rule.k()}}) {
    if (auto status = CheckExtent(field, *text, known, where); !status.ok()) return status;
  }
  if (auto status = CheckTile(rule.tile(), known, where); !status.ok()) return status;
  if (const auto capture = CaptureName(rule.arch())) {
    if (auto status = CheckCapture(*capture, known, where); !status.ok()) return status;
  } else if (!rule.arch().empty() && !IsArchitecture(rule.arch())) {
    return Invalid(
        where + "arch '" + rule.arch() +
        "' is no architecture; write it like sm90, or $function to take it from the name");
  }
  if (!Grammar_IsValid(rule.grammar())) {
    std::vector<std::string> all;
    for (int i = 0; i < Grammar_descriptor()->value_count(); ++i)
      all.emplace_back(Grammar_descriptor()->value(i)->name());
    return Unknown(where, "grammar", std::to_string(rule.grammar()), all);
  }
  return absl::OkStatus();
}

}  // namespace hotproof::catalog
