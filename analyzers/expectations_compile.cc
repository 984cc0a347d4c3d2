// CompileExpectations of expectations.h.
#include <re2/re2.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyzers/expectations.h"
#include "catalog/meant_name.h"

namespace hotproof::analyzers {
namespace {

absl::Status Invalid(const std::string& what) { return absl::InvalidArgumentError(what); }

absl::Status Unknown(const char* what, const std::string& name, const std::vector<std::string>& names) {
  return Invalid(catalog::UnknownName(what, name, names));
}

absl::StatusOr<Selection::NxK> ParseShape(const std::string& text) {
  Selection::NxK shape{};
  const std::vector<std::string> parts = absl::StrSplit(text, 'x');
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &shape.n) ||
      !absl::SimpleAtoi(parts[1], &shape.k) || shape.n == 0 || shape.k == 0) {
    return Invalid(absl::StrCat("shape '", text, "' is not NxK; write it like 34816x5120"));
  }
  return shape;
}

absl::StatusOr<RatioBound> ParseRatio(const std::string& what, const std::string& text) {
  static const RE2 pattern(R"(\s*(>=|<=|>|<)\s*([0-9]*\.?[0-9]+)\s*(%?)\s*)");
  std::string op, number, percent;
  RatioBound bound;
  if (!RE2::FullMatch(text, pattern, &op, &number, &percent) ||
      // "99.9%" is the number that 0.999 is: shifted in the text, not divided.
      !absl::SimpleAtod(percent.empty() ? number : absl::StrCat(number, "e-2"), &bound.limit)) {
    return Invalid(absl::StrCat(what, " '", text, "' is not a comparison; write it like '>=0.99'"));
  }
  using Op = RatioBound::Op;
  bound.op = op == ">="   ? Op::kGreaterEqual
             : op == "<=" ? Op::kLessEqual
             : op == ">"  ? Op::kGreater
                          : Op::kLess;
  if (bound.limit > 1) {
    return Invalid(
        absl::StrCat(what, " '", text, "' exceeds 1; shares are between 0 and 1 (or write %)"));
  }
  const bool always = (bound.op == Op::kGreaterEqual && bound.limit == 0) ||
                      (bound.op == Op::kLessEqual && bound.limit == 1);
  if (always)
    return Invalid(absl::StrCat(what, " '", text, "' can never fail; give a stricter bound"));
  return bound;
}

absl::StatusOr<std::shared_ptr<const RE2>> CompilePattern(const char* what,
                                                          const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_shared<const RE2>(pattern, options);
  if (!compiled->ok()) {
    return Invalid(absl::StrCat(what, " pattern '", pattern, "' is no RE2 pattern (",
                                compiled->error(), "); escape special characters with \\"));
  }
  return compiled;
}

absl::StatusOr<Selection> CompileSelection(const expectations::Expectation& source) {
  Selection selection;
  if (!source.kernel().empty()) {
    auto kernel = CompilePattern("kernel", source.kernel());
    if (!kernel.ok()) return kernel.status();
    selection.kernel_pattern = source.kernel();
    selection.kernel = *std::move(kernel);
  }
  if (!source.range().empty()) {
    auto range = CompilePattern("range", source.range());
    if (!range.ok()) return range.status();
    selection.range_pattern = source.range();
    selection.range = *std::move(range);
  }
  if (!source.path().empty()) {
    selection.path = catalog::ParsePath(source.path());
    if (!selection.path) {
      return Unknown("path", source.path(), catalog::PathNames());
    }
  }
  if (!source.shape().empty()) {
    const auto shape = ParseShape(source.shape());
    if (!shape.ok()) return shape.status();
    selection.shape = *shape;
  }
  if (source.has_device_code() && source.cubin_of().empty()) {
    return Invalid("device_code is what cubin_of is read into; give cubin_of: \"FILE\"");
  }
  if (!source.cubin_of().empty()) {
    const expectations::DeviceCode& found = source.device_code();
    if (found.cubin_hashes().empty() && found.ptx_kernels().empty() && found.unreadable() == 0) {
      return Invalid(absl::StrCat("the device code of '", source.cubin_of(), "' was not read"));
    }
    auto code = std::make_shared<Selection::Code>();
    code->file = source.cubin_of();
    code->cubins.insert(found.cubin_hashes().begin(), found.cubin_hashes().end());
    code->ptx_kernels.insert(found.ptx_kernels().begin(), found.ptx_kernels().end());
    if (found.unreadable() > 0) {
      code->why_incomplete = absl::StrCat(found.unreadable(), " parts of ", code->file,
                                          " could not be read: ", found.why_unreadable());
    }
    selection.code = std::move(code);
  }
  if (source.kind().empty()) {
    // A path or shape asks for GEMMs; a kernel's name says enough by itself.
    if (!selection.kernel && !selection.code && (selection.path || selection.shape)) {
      selection.kind = catalog::Kind::kGemm;
      selection.kind_implied = true;
    }
  } else if (source.kind() != "any") {
    selection.kind = catalog::ParseKind(source.kind());
    if (!selection.kind) {
      std::vector<std::string> names = catalog::KindNames();
      names.push_back("any");
      return Unknown("kind", source.kind(), names);
    }
    // Nothing else has a shape: 'never' would hold of any trace.
    if (selection.shape && *selection.kind != catalog::Kind::kGemm &&
        *selection.kind != catalog::Kind::kOther) {
      return Invalid(absl::StrCat("shape ", source.shape(), " selects GEMMs, and kind ",
                                  source.kind(), " has none; leave one of the two away"));
    }
  }
  return selection;
}

absl::StatusOr<Bounds> CompileBounds(const expectations::Expectation& source) {
  Bounds bounds;
  if (source.has_min_launches()) bounds.min = source.min_launches();
  if (source.has_max_launches()) bounds.max = source.max_launches();
  if (source.has_launches()) {
    if (bounds.min || bounds.max) {
      return Invalid("launches excludes min_launches and max_launches; give one or the other");
    }
    bounds.min = bounds.max = source.launches();
  }
  if (bounds.min && bounds.max && *bounds.min > *bounds.max) {
    return Invalid(
        absl::StrCat("at least ", *bounds.min, " and at most ", *bounds.max,
                     " launches exclude each other; give a least that is not above the most"));
  }
  if (bounds.min && *bounds.min == 0 && !bounds.max) {
    return Invalid("min_launches 0 can never fail; ask for at least 1");
  }
  return bounds;
}

// An unset variable in a template of the file must not become 'any'.
absl::Status RefuseEmptyText(const expectations::Expectation& source) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  source.GetReflection()->ListFields(source, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->type() != google::protobuf::FieldDescriptor::TYPE_STRING) continue;
    if (source.GetReflection()->GetString(source, field).empty()) {
      return Invalid(absl::StrCat(field->name(), " must not be empty; leave it away for any"));
    }
  }
  return absl::OkStatus();
}

// A textproto may have numbers in the place of an enum's words, whatever they are.
absl::Status RefuseUnknownNumber(const google::protobuf::Message& source) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  source.GetReflection()->ListFields(source, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->type() != google::protobuf::FieldDescriptor::TYPE_ENUM) continue;
    const int number = source.GetReflection()->GetEnumValue(source, field);
    const google::protobuf::EnumDescriptor& words = *field->enum_type();
    if (words.FindValueByNumber(number) != nullptr) continue;
    std::vector<std::string> names;
    for (int i = 1; i < words.value_count(); ++i) names.emplace_back(words.value(i)->name());
    return Unknown(std::string(field->name()).c_str(), absl::StrCat(number), names);
  }
  return absl::OkStatus();
}

absl::StatusOr<CompiledExpectation> CompileOne(const expectations::Expectation& source) {
  if (const absl::Status status = RefuseEmptyText(source); !status.ok()) return status;
  if (const absl::Status status = RefuseUnknownNumber(source); !status.ok()) return status;
  CompiledExpectation compiled;
  compiled.processes = source.processes() != expectations::PROCESSES_UNSPECIFIED
                           ? source.processes()
                           : expectations::EVERY;
  compiled.name = source.name();
  auto selection = CompileSelection(source);
  if (!selection.ok()) return selection.status();
  compiled.selection = *std::move(selection);
  const auto bounds = CompileBounds(source);
  if (!bounds.ok()) return bounds.status();
  compiled.bounds = *bounds;
  if (source.has_launches_per_replay()) {
    if (compiled.processes == expectations::SUM) {
      return Invalid("launches_per_replay is of each process; use processes EVERY or ANY");
    }
    compiled.per_replay = source.launches_per_replay();
  }
  if (!source.share().empty()) {
    if (!compiled.selection.kernel && !compiled.selection.path && !compiled.selection.range &&
        !compiled.selection.code) {
      return Invalid(
          "share without kernel, path, cubin_of or range is always 1; say whose share is meant");
    }
    // A share is one of GEMMs unless another kind is named; the other bounds are of all that is
    // selected.
    if (source.kind().empty()) compiled.selection.share_kind = catalog::Kind::kGemm;
    const auto share = ParseRatio("share", source.share());
    if (!share.ok()) return share.status();
    compiled.share = *share;
    compiled.share_text = source.share();
  }
  if (!source.time_share().empty()) {
    const Selection& of = compiled.selection;
    if (!of.kernel && !of.path && !of.kind && !of.shape && !of.range && !of.code) {
      return Invalid("time_share of any kernel is always 1; say whose share is meant");
    }
    const auto share = ParseRatio("time_share", source.time_share());
    if (!share.ok()) return share.status();
    compiled.time_share = *share;
    compiled.time_share_text = source.time_share();
  }
  if (!compiled.bounds.min && !compiled.bounds.max && !compiled.per_replay && !compiled.share &&
      !compiled.time_share) {
    return Invalid(absl::StrCat(
        "nothing is expected of ", compiled.selection.Text(),
        "; give launches, min_launches, max_launches, launches_per_replay, share or time_share "
        "(as flags --launches, ..., --time-share)"));
  }
  return compiled;
}

}  // namespace

absl::StatusOr<CompiledExpectations> CompileExpectations(const expectations::Expectations& source) {
  CompiledExpectations compiled;
  if (const absl::Status status = RefuseUnknownNumber(source); !status.ok()) return status;
  for (int i = 0; i < source.expect_size(); ++i) {
    auto one = CompileOne(source.expect(i));
    if (!one.ok()) {
      return Invalid(source.expect_size() == 1
                         ? std::string(one.status().message())
                         : absl::StrCat("expectation ", i + 1, ": ", one.status().message()));
    }
    compiled.expect.push_back(*std::move(one));
  }
  if (source.has_processes()) compiled.processes = source.processes();
  if (compiled.expect.empty() && !compiled.processes) {
    return Invalid(
        "nothing is expected; give --launches, --min-launches, --max-launches, "
        "--launches-per-replay, --share, --time-share, --expect-processes or --expect FILE");
  }
  compiled.phase = source.phase() == expectations::ALL ? PhaseChoice::kAll : PhaseChoice::kSteady;
  return compiled;
}

}  // namespace hotproof::analyzers
