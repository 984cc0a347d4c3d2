// One way to read a problem size from a launch's arguments. Compiled from a Layout message, then
// immutable: Read is const and safe on any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "catalog/kernel_class.h"
#include "catalog/layouts/launch_evidence.h"
#include "catalog/layouts/signature.h"
#include "catalog/match/pattern.h"

namespace hotproof::catalog {

class Layout;  // proto/catalog.pb.h

// What was read of D[M,N] = A[M,K] x B[N,K]^T, in elements; N is the dim that is contiguous in D.
// Absent: the layout does not hold it.
struct LayoutReading {
  std::optional<int64_t> m, n, k, batch, lda, ldb, ldd;
  std::optional<bool> a_has_scales, b_has_scales;  // a vector of them; false: one number
  std::string layout;  // its id
  // Why the bytes were not believed: a check failed, or a field was masked. The dims are absent
  // then.
  std::string refused;
  bool contradiction = false;  // a check failed
};

class CompiledLayout {
 public:
  // Errors name the layout and what is wrong with it.
  static absl::StatusOr<CompiledLayout> Compile(const Layout& layout);

  const std::string& id() const { return id_; }
  const std::vector<std::string>& rules() const { return rules_; }
  // Whether it is for this kernel at all: the rule that classified it, and its name.
  bool AppliesTo(const KernelClass& kernel_class, const Node& name, WordCache& words) const;
  // Nothing if the parameters are not the ones that it describes.
  std::optional<LayoutReading> Read(const LaunchEvidence& evidence,
                                    const KernelClass& kernel_class) const;

 private:
  // Names are numbers once a layout is compiled: thousands of sites are read.
  using Slot = uint32_t;
  using Values = std::vector<std::optional<int64_t>>;  // by slot
  struct Operand {
    std::optional<Slot> slot;  // nothing: the number
    int64_t number = 0;
  };
  struct Check {
    std::string text;
    Operand left;
    enum class Operator { kEqual, kAtLeast, kAtMost } op;
    std::vector<Operand> right;  // one of them
  };
  struct Field {
    std::string name;
    Slot slot;
    uint32_t parameter, offset, bytes;
    int64_t plus;
    bool optional = false;
    bool behind_address = false;
  };
  using Names = std::map<std::string, Slot, std::less<>>;  // while it is compiled

  static absl::StatusOr<Check> CompileCheck(const std::string& text, const Names& names);
  static std::optional<int64_t> ValueOf(const Operand& operand, const Values& values);
  static bool Passes(const Check& check, const Values& values);
  // False and why in `refused` if a field's bytes are not there.
  bool ReadField(const Field& field, const LaunchEvidence& evidence, Values& values,
                 std::string& refused) const;

  std::string id_;
  std::vector<std::string> rules_;
  Signature signature_;
  std::vector<std::shared_ptr<const Pattern>> names_, exceptions_;
  std::vector<std::optional<Slot>> term_slots_;  // by term of signature_
  std::vector<Field> fields_;
  std::vector<Check> checks_;
  Values constants_;  // as many as there are slots
};

}  // namespace hotproof::catalog
