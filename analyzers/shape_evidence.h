// The one place where a launch's raw evidence becomes M, N and K. New evidence (argument layouts,
// library calls) is one more source in ShapeOf, tried in order of exactness; nothing else changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "catalog/kernel_class.h"
#include "trace/tables.h"

namespace hotproof::analyzers {

// Where dims come from. Exact: kArguments, kTensorMap, kLibraryCall. Inferred: the others.
enum class Provenance { kUnknown, kName, kModel, kNvtx, kOp, kLibraryCall, kTensorMap, kArguments };
std::string_view ProvenanceName(Provenance provenance);

// Dims in elements of D[M,N] = A[M,K] x B[N,K]^T; absent where not known.
struct Shape {
  std::optional<uint32_t> m, n, k;
  Provenance provenance = Provenance::kUnknown;

  bool complete() const { return m && n && k; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

// The shape of a GEMM launched from `site`. Evidence that contradicts the kernel's name is not
// used:
// `*contradiction` then says how (it is left alone otherwise).
Shape ShapeOf(const trace::Site& site, const catalog::KernelClass& kernel_class,
              const trace::Tables& tables, std::string* contradiction);

}  // namespace hotproof::analyzers
