#include "analyzers/operands.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzers/library_calls.h"

namespace hotproof::analyzers {
namespace {

// What the call says, if anything, in place of what the name says.
void Take(std::string_view called, std::string* named) {
  const bool multiplied_as = called == "fp32" && *named == "tf32";
  // A format of data and scales together, where the call has the data's type.
  const bool with_scales = called == "e2m1" && (*named == "nvfp4" || *named == "mxfp4");
  if (!called.empty() && !multiplied_as && !with_scales) *named = called;
}

// Of a kernel that is run with vectors of scales and with single numbers.
std::string ScalingOf(const catalog::KernelClass& named, const Shape& shape) {
  if (named.other_scaling.empty()) return named.scaling;
  if (shape.a_has_scales && shape.b_has_scales) {
    const bool a = *shape.a_has_scales, b = *shape.b_has_scales;
    return a && b ? "token_channel" : a ? "token" : b ? "channel" : "tensor";
  }
  return absl::StrCat(named.other_scaling, " or ", named.scaling);
}

}  // namespace

Operands OperandsOf(const TraceIndex& index, uint32_t site_id) {
  const trace::Site& site = index.tables().sites[site_id];
  const catalog::KernelClass& named = index.kernel(index.kernel_of_site(site_id)).kernel_class;
  Operands operands{named.a_dtype, named.b_dtype, named.d_dtype,
                    ScalingOf(named, index.shape_of_site(site_id))};
  if (!site.has_library_call()) return operands;
  const trace::LibraryCall& call = site.library_call();
  // A column-major D is the transpose of ours: the library's A is our B.
  const bool row_major = call.order_d() == 1;
  const std::string_view a = DtypeOfCall(row_major ? call.a_type() : call.b_type());
  Take(a, &operands.a);
  Take(DtypeOfCall(row_major ? call.b_type() : call.a_type()), &operands.b);
  Take(DtypeOfCall(call.d_type()), &operands.d);
  const std::string_view scaling = ScalingOfCall(call, a);
  if (!scaling.empty()) operands.scaling = scaling;
  return operands;
}

void Add(const Operands& other, Operands* operands) {
  const auto add = [](const std::string& more, std::string* known) {
    if (more.empty() || more == *known) return;
    // Of some launches it is not known which of the two.
    for (const std::string* doubtful : {&more, static_cast<const std::string*>(known)}) {
      if (doubtful->find(" or ") == std::string::npos) continue;
      *known = std::string(*doubtful);
      return;
    }
    std::vector<std::string> all = absl::StrSplit(*known, " and ", absl::SkipEmpty());
    for (const absl::string_view one : absl::StrSplit(more, " and ")) {
      if (std::find(all.begin(), all.end(), one) == all.end()) all.emplace_back(one);
    }
    std::sort(all.begin(), all.end());
    *known = absl::StrJoin(all, " and ");
  };
  add(other.a, &operands->a);
  add(other.b, &operands->b);
  add(other.d, &operands->d);
  add(other.scaling, &operands->scaling);
}

std::string Text(const Operands& operands) {
  const auto type = [](const std::string& dtype) { return dtype.empty() ? "?" : dtype; };
  std::vector<std::string> words;
  const bool scaled = !operands.scaling.empty() && operands.scaling != "none";
  if (!operands.a.empty() || !operands.b.empty() || scaled) words.push_back(type(operands.a));
  if (operands.a != operands.b) words.push_back("x " + type(operands.b));
  if (scaled) words.push_back(operands.scaling);
  return absl::StrJoin(words, " ");
}

}  // namespace hotproof::analyzers
