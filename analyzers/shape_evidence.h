// The one place where a launch's raw evidence becomes M, N and K: its arguments by a layout of the
// catalog, its tensor maps, the library call it was launched in, the dims in the kernel's name, in
// this order. All that speak have to agree (docs/shapes.md). Pure functions, safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/kernel_class.h"
#include "catalog/layouts/layout.h"
#include "trace/tables.h"

namespace hotproof::analyzers {

// Where dims come from. Exact: kArguments, kTensorMap, kLibraryCall. Inferred: the others.
enum class Provenance { kUnknown, kName, kModel, kNvtx, kOp, kLibraryCall, kTensorMap, kArguments };
std::string_view ProvenanceName(Provenance provenance);

// Dims in elements of D[M,N] = A[M,K] x B[N,K]^T, where N is the dim that is contiguous in D;
// absent where not known. `batch`: how many such products one launch computes, absent for one.
struct Shape {
  std::optional<uint32_t> m, n, k;
  Provenance provenance = Provenance::kUnknown;
  std::optional<uint32_t> batch;

  // Whether the operands are scaled by vectors; absent where the arguments don't tell. No part of a
  // shape.
  std::optional<bool> a_has_scales, b_has_scales;

  bool complete() const { return m && n && k; }
  friend bool operator==(const Shape& a, const Shape& b) {
    return a.m == b.m && a.n == b.n && a.k == b.k && a.provenance == b.provenance &&
           a.batch == b.batch;
  }
};

// What of a kernel helps to read its launches.
struct KernelEvidence {
  const catalog::KernelClass& kernel_class;
  const std::vector<const catalog::CompiledLayout*>& layouts;  // Classifier::LayoutsOf
};

// What the layouts make of the arguments of a launch from `site`; nothing if none is for their
// parameters.
std::optional<catalog::LayoutReading> ReadArguments(const trace::Site& site,
                                                    const KernelEvidence& kernel,
                                                    const trace::Tables& tables);

// The shape of a GEMM launched from `site`. Evidence that contradicts itself gives an unknown
// shape;
// `*contradiction` then says how (it is left alone otherwise).
Shape ShapeOf(const trace::Site& site, const KernelEvidence& kernel, const trace::Tables& tables,
              std::string* contradiction);

}  // namespace hotproof::analyzers
