// Any bytes as a kernel's name: no crash, no undefined behaviour, an answer that is consistent and
// no larger than the name allows.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "catalog/classifier.h"

namespace {

using hotproof::catalog::CanonicalName;
using hotproof::catalog::Classifier;
using hotproof::catalog::Kind;
using hotproof::catalog::Path;

void Check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* classifier = new absl::StatusOr<Classifier>(Classifier::Create());
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  const auto answer = (*classifier)->Classify(name);
  // Nothing is claimed without a rule that says it, and no extent that is none.
  if (answer.rule.empty()) Check(answer.path == Path::kUnknown && answer.kind == Kind::kOther);
  if (answer.rule.empty()) Check(answer.a_dtype.empty() && answer.tile.empty());
  for (const auto& extent : {answer.m, answer.n, answer.k})
    Check(!extent.has_value() || *extent > 0);
  Check(CanonicalName(name).size() <= 128 * size + 8192);
  return 0;
}
