#include "analyzers/selection_match.h"

#include <re2/re2.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hotproof::analyzers {
namespace {

// libx of /a/libx.so.13.1: links and versions of one library.
std::string_view LibraryName(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.find(".so"));
}

// Whether `pattern` matches one of the known pieces of `text`, whatever it is that stands in place
// of kUnknown: the piece's own ends are no ends of the text, and what follows may be of a word or
// not.
bool MatchesForCertain(const std::string& text, const RE2& pattern) {
  const std::vector<std::string> pieces = absl::StrSplit(text, RangeIndex::kUnknown);
  for (size_t i = 0; i < pieces.size(); ++i) {
    bool matches = true;
    for (const char* neighbour : {"a", " "}) {
      const std::string before = i == 0 ? "" : neighbour;
      const std::string around =
          absl::StrCat(before, pieces[i], i + 1 == pieces.size() ? "" : neighbour);
      matches &= pattern.Match(around, before.size(), before.size() + pieces[i].size(),
                               RE2::UNANCHORED, nullptr, 0);
    }
    if (matches) return true;
  }
  return false;
}

}  // namespace

SiteMatcher::SiteMatcher(const Selection& selection, const TraceIndex& index)
    : selection_(selection), index_(index) {
  for (uint32_t id = 0; id < index.kernel_count(); ++id) {
    names_.push_back(OfName(id));
    codes_.push_back(OfCode(id));
  }
}

Membership SiteMatcher::Of(uint32_t site) const {
  const uint32_t kernel = index_.kernel_of_site(site);
  Membership of_kernel = std::min(names_[kernel], codes_[kernel]);
  if (of_kernel == Membership::kOut && names_[kernel] == Membership::kIn &&
      MayBeLaunchedByFile(site)) {
    of_kernel = Membership::kPossible;
  }
  if (of_kernel == Membership::kOut) return of_kernel;
  if (selection_.path && index_.path_of_site(site) != *selection_.path) return Membership::kOut;
  if (selection_.kind && index_.kind_of_site(site) != *selection_.kind) return Membership::kOut;
  return std::min(of_kernel, OfShape(site));
}

Membership SiteMatcher::OfWhole(uint32_t site) const {
  const std::optional<catalog::Kind> kind = selection_.WholeKind();
  if (kind && index_.kind_of_site(site) != *kind) return Membership::kOut;
  return OfShape(site);
}

Membership SiteMatcher::OfName(uint32_t kernel_id) const {
  if (!selection_.kernel) return Membership::kIn;
  const KernelInfo& kernel = index_.kernel(kernel_id);
  const bool matches =
      kernel_id != 0 && (RE2::PartialMatch(kernel.name, *selection_.kernel) ||
                         RE2::PartialMatch(kernel.canonical, *selection_.kernel));
  return matches ? Membership::kIn : Membership::kOut;
}

Membership SiteMatcher::OfCode(uint32_t kernel_id) const {
  if (!selection_.code) return Membership::kIn;
  const Selection::Code& code = *selection_.code;
  const trace::Kernel* kernel = kernel_id != 0 && kernel_id < index_.tables().kernels.size()
                                    ? &index_.tables().kernels[kernel_id]
                                    : nullptr;
  if (kernel == nullptr || kernel->cubin_hash() == 0) return Membership::kPossible;
  if (code.cubins.contains(kernel->cubin_hash())) return Membership::kIn;
  return !code.why_incomplete.empty() || code.ptx_kernels.contains(kernel->name())
             ? Membership::kPossible
             : Membership::kOut;
}

// What the file launched from a cubin that it does not embed as it is, it may have made of one
// that it does: cuBLASLt patches those of its nvjet kernels.
bool SiteMatcher::MayBeLaunchedByFile(uint32_t site) const {
  if (!selection_.code || site >= index_.tables().sites.size()) return false;
  const std::string& library = index_.tables().sites[site].launching_library();
  return library.empty() || LibraryName(library) == LibraryName(selection_.code->file);
}

Membership SiteMatcher::OfShape(uint32_t site) const {
  if (!selection_.shape) return Membership::kIn;
  // A kernel of unknown kind may be a GEMM; one that is something else has no such shape.
  const catalog::Kind kind = index_.kind_of_site(site);
  if (kind != catalog::Kind::kGemm && kind != catalog::Kind::kOther) return Membership::kOut;
  const Shape& shape = index_.shape_of_site(site);
  if ((shape.n && *shape.n != selection_.shape->n) ||
      (shape.k && *shape.k != selection_.shape->k)) {
    return Membership::kOut;
  }
  return shape.n && shape.k ? Membership::kIn : Membership::kPossible;
}

RangeMatcher::RangeMatcher(const Selection& selection, const TraceIndex& index) {
  if (!selection.range) return;
  ranges_.emplace(index);
  const bool uncertain = !ranges_->any_of_program();
  for (uint32_t range = 0; range < ranges_->size(); ++range) {
    const bool in_none = range == 0;  // which is one of those the pattern may ask for
    Membership in = ranges_->is_many(range) || uncertain ? Membership::kPossible : Membership::kOut;
    if (Matches(range, *selection.range) && !(in_none && uncertain)) in = Membership::kIn;
    in_.push_back(in);
  }
}

bool RangeMatcher::Matches(uint32_t range, const RE2& pattern) const {
  if (ranges_->is_many(range)) {
    const std::vector<std::string>& texts = ranges_->partial_texts(range);
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& text) { return MatchesForCertain(text, pattern); });
  }
  return RE2::PartialMatch(ranges_->text(range), pattern) ||
         RE2::PartialMatch(ranges_->whole_text(range), pattern);
}

std::vector<Membership> MembershipOfSlots(const Selection& selection, const TraceIndex& index) {
  const SiteMatcher matcher(selection, index);
  const RangeMatcher range_matcher(selection, index);
  std::vector<Membership> of_site(index.site_count()), of_slot(index.slot_count());
  for (uint32_t site = 0; site < index.site_count(); ++site) of_site[site] = matcher.Of(site);
  for (uint32_t slot = 0; slot < index.slot_count(); ++slot)
    of_slot[slot] = std::min(of_site[index.site_of_slot(slot)], range_matcher.Of(slot));
  return of_slot;
}

}  // namespace hotproof::analyzers
