#include "analyzers/selection.h"

#include <re2/re2.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "analyzers/loss_table.h"
#include "analyzers/nearest.h"
#include "analyzers/number.h"
#include "analyzers/range_index.h"
#include "analyzers/rows.h"

namespace hotproof::analyzers {
namespace {

constexpr size_t kNearNames = 3;

// Whether the launches of one site are in a selection, or may be; the least of several conditions
// holds.
enum class Membership { kOut, kPossible, kIn };

class SiteMatcher {
 public:
  SiteMatcher(const Selection& selection, const TraceIndex& index)
      : selection_(selection), index_(index) {
    for (uint32_t id = 0; id < index.kernel_count(); ++id) {
      names_.push_back(OfName(id));
      codes_.push_back(OfCode(id));
    }
  }

  Membership Of(uint32_t site) const {
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

  // Of what a share is taken: the launches of its kind and shape.
  Membership OfWhole(uint32_t site) const {
    const std::optional<catalog::Kind> kind = selection_.WholeKind();
    if (kind && index_.kind_of_site(site) != *kind) return Membership::kOut;
    return OfShape(site);
  }

 private:
  Membership OfName(uint32_t kernel_id) const {
    if (!selection_.kernel) return Membership::kIn;
    const KernelInfo& kernel = index_.kernel(kernel_id);
    const bool matches =
        kernel_id != 0 && (RE2::PartialMatch(kernel.name, *selection_.kernel) ||
                           RE2::PartialMatch(kernel.canonical, *selection_.kernel));
    return matches ? Membership::kIn : Membership::kOut;
  }

  Membership OfCode(uint32_t kernel_id) const {
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
  bool MayBeLaunchedByFile(uint32_t site) const {
    if (!selection_.code || site >= index_.tables().sites.size()) return false;
    const std::string& library = index_.tables().sites[site].launching_library();
    return library.empty() || LibraryName(library) == LibraryName(selection_.code->file);
  }

  // libx of /a/libx.so.13.1: links and versions of one library.
  static std::string_view LibraryName(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    return name.substr(0, name.find(".so"));
  }

  Membership OfShape(uint32_t site) const {
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

  const Selection& selection_;
  const TraceIndex& index_;
  std::vector<Membership> names_, codes_;  // by kernel id
};

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

// Whether the launches of each slot are in the ranges asked for. A range that stands for many may
// be one of them, and so may any where none of the program's reached the tracer: that it has no
// ranges, or lost its NVTX injection, looks the same, whatever ranges a library opened for itself.
class RangeMatcher {
 public:
  RangeMatcher(const Selection& selection, const TraceIndex& index) {
    if (!selection.range) return;
    ranges_.emplace(index);
    const bool uncertain = !ranges_->any_of_program();
    for (uint32_t range = 0; range < ranges_->size(); ++range) {
      const bool in_none = range == 0;  // which is one of those the pattern may ask for
      Membership in =
          ranges_->is_many(range) || uncertain ? Membership::kPossible : Membership::kOut;
      if (Matches(range, *selection.range) && !(in_none && uncertain)) in = Membership::kIn;
      in_.push_back(in);
    }
  }
  Membership Of(uint32_t slot) const {
    return ranges_ ? in_[ranges_->range_of_slot(slot)] : Membership::kIn;
  }

 private:
  bool Matches(uint32_t range, const RE2& pattern) const {
    if (ranges_->is_many(range)) {
      const std::vector<std::string>& texts = ranges_->partial_texts(range);
      return std::any_of(texts.begin(), texts.end(),
                         [&](const std::string& text) { return MatchesForCertain(text, pattern); });
    }
    return RE2::PartialMatch(ranges_->text(range), pattern) ||
           RE2::PartialMatch(ranges_->whole_text(range), pattern);
  }

  std::optional<RangeIndex> ranges_;
  std::vector<Membership> in_;
};

Evidence CountsEvidence(const ProcessAnalysis& process, PhaseChoice phase) {
  return phase == PhaseChoice::kAll ? process.completeness.counts_all
                                    : process.completeness.counts_steady;
}

// Without what was followed already.
std::string AdviceIn(PhaseChoice phase, const std::string& advice) {
  if (phase != PhaseChoice::kAll) return advice;
  return advice == "use --phase all" ? "" : absl::StrReplaceAll(advice, {{"use --phase all, or ", ""}});
}

// Why the evidence for counts (or times) is not exact; empty, if it is.
Why WhyUncertain(const ProcessAnalysis& process, PhaseChoice phase, bool of_times) {
  using report::Completeness;
  const Completeness& completeness = process.completeness.completeness;
  Why why;
  if (completeness.state() != Completeness::NOT_COLLECTED && phase == PhaseChoice::kSteady &&
      !process.index->phases().phased) {
    const LossKind& unphased = LossOf(Finding::kUnphased);
    why.Add(absl::StrCat("unphased: ", process.index->phases().detail), unphased.advice,
            unphased.name);
    return why;
  }
  for (const report::Reason& reason : completeness.reasons()) {
    if (!(of_times ? reason.affects_times() : reason.affects_counts())) continue;
    const auto& problems = process.completeness.problems;
    const auto problem = std::find_if(problems.begin(), problems.end(), [&](const auto& other) {
      return other.name() == reason.name() && other.detail() == reason.detail();
    });
    why.Add(reason.count() > 0
                ? absl::StrCat(reason.detail(), " (", WithThousands(reason.count()), ")")
                : reason.detail(),
            problem == problems.end() ? "" : AdviceIn(phase, problem->advice()), reason.name());
  }
  if (of_times && completeness.state() == Completeness::COUNTED) {
    why.Add("launches were counted, their execution was not observed",
            "trace it with hotproof run --mode full, or ask for launches", "counted");
  }
  if (!why.text.empty() && completeness.state() != Completeness::COUNTED) {
    std::string state = Completeness::State_Name(completeness.state());
    why.text = absl::StrCat(absl::StrReplaceAll(state, {{"_", " "}}), ": ", why.text);
  }
  return why;
}

// What each replayed graph launches of the selection; only those that launch a GEMM or some of it.
std::vector<PerReplay> ReplaysOf(const ProcessAnalysis& process, PhaseChoice phase,
                                 const std::vector<Membership>& of_slot) {
  const TraceIndex& index = *process.index;
  std::vector<PerReplay> graphs;
  for (uint32_t graph = 1; graph < index.tables().graphs.size(); ++graph) {
    const uint32_t first = index.first_slot_of_graph(graph),
                   end = index.first_slot_of_graph(graph + 1);
    PerReplay of_graph;
    bool forward = false;
    for (uint32_t slot = first; slot < end; ++slot) {
      of_graph.selected += of_slot[slot] == Membership::kIn;
      of_graph.possible += of_slot[slot] == Membership::kPossible;
      forward |= index.kind_of_site(index.site_of_slot(slot)) == catalog::Kind::kGemm;
    }
    if (first < end) of_graph.replays = LaunchesIn(process, first, phase);
    forward |= of_graph.selected + of_graph.possible > 0;
    if (forward && of_graph.replays > 0) graphs.push_back(of_graph);
  }
  return graphs;
}

void AddRan(const Ran& more, Ran* ran) {
  ran->launches += more.launches;
  ran->steady += more.steady;
  ran->warmup += more.warmup;
  ran->exclusive_ns += more.exclusive_ns;
}

void AddRan(const RanByName& more, RanByName* ran) {
  for (const auto& [name, of_name] : more) AddRan(of_name, &(*ran)[name]);
}

// What ran of `by_kernel`, by kernel id.
RanByName ByName(const TraceIndex& index, const std::vector<Ran>& by_kernel) {
  RanByName by_name;
  for (uint32_t id = 0; id < by_kernel.size(); ++id) {
    if (by_kernel[id].launches > 0) AddRan(by_kernel[id], &by_name[index.kernel(id).canonical]);
  }
  return by_name;
}

void AddOneNear(const std::string& name, uint64_t launches, uint64_t warmup, report::Check* check) {
  report::Near* near = check->add_near();
  near->set_name(name);
  near->set_launches(Number(launches));
  near->set_warmup_launches(Number(warmup));
}

}  // namespace

std::string Selection::Text() const {
  std::vector<std::string> parts;
  if (kernel) parts.push_back(absl::StrCat("kernel /", kernel_pattern, "/"));
  if (code) parts.push_back(absl::StrCat("cubin of ", code->file));
  if (path) parts.push_back(absl::StrCat("path ", std::string(catalog::PathName(*path))));
  if (shape) parts.push_back(absl::StrCat("shape ", shape->n, "x", shape->k));
  if (kind && (*kind != catalog::Kind::kGemm || !(path || shape))) {
    parts.push_back(absl::StrCat("kind ", std::string(catalog::KindName(*kind))));
  }
  if (range) parts.push_back(absl::StrCat("range /", range_pattern, "/"));
  return parts.empty() ? "any kernel" : absl::StrJoin(parts, ", ");
}

void Why::Add(const std::string& more, const std::string& more_advice, const std::string& id) {
  absl::StrAppend(&text, text.empty() ? "" : "; ", more);
  if (advice.find(more_advice) == std::string::npos)
    absl::StrAppend(&advice, advice.empty() ? "" : "; ", more_advice);
  if (!id.empty()) ids.push_back(id);
}

void Tally::Add(const Tally& other) {
  selected.evidence = Weaker(selected.evidence, other.selected.evidence);
  selected.launches += other.selected.launches;
  selected.possible += other.selected.possible;
  in_share.evidence = Weaker(in_share.evidence, other.in_share.evidence);
  in_share.launches += other.in_share.launches;
  in_share.possible += other.in_share.possible;
  of_other_kinds += other.of_other_kinds;
  others.evidence = Weaker(others.evidence, other.others.evidence);
  others.launches += other.others.launches;
  others.possible += other.others.possible;
  times = Weaker(times, other.times);
  possible_in_whole += other.possible_in_whole;
  selected_ns += other.selected_ns;
  possible_ns += other.possible_ns;
  all_ns += other.all_ns;
  phased &= other.phased;
  steady += other.steady;
  warmup += other.warmup;
  captured += other.captured;
  AddRan(other.ran_selected, &ran_selected);
  AddRan(other.ran_in_share, &ran_in_share);
  AddRan(other.ran_beside_share, &ran_beside_share);
  AddRan(other.ran_beside, &ran_beside);
  if (why_counts.text.empty()) why_counts = other.why_counts;
  if (why_times.text.empty()) why_times = other.why_times;
}

Tally TallyOf(const Selection& selection, const ProcessAnalysis& process, PhaseChoice phase) {
  const TraceIndex& index = *process.index;
  const SiteMatcher matcher(selection, index);
  const RangeMatcher range_matcher(selection, index);
  std::vector<Membership> in(index.site_count()), in_whole(index.site_count());
  for (uint32_t site = 0; site < index.site_count(); ++site) {
    in[site] = matcher.Of(site);
    in_whole[site] = matcher.OfWhole(site);
  }
  Tally tally;
  tally.phased = index.phases().phased;
  tally.selected.evidence = tally.in_share.evidence = tally.others.evidence =
      CountsEvidence(process, phase);
  tally.times =
      phase == PhaseChoice::kSteady && !tally.phased ? Evidence::kNone : process.completeness.times;
  tally.why_counts = WhyUncertain(process, phase, /*of_times=*/false);
  tally.why_times = WhyUncertain(process, phase, /*of_times=*/true);
  std::vector<Membership> of_slot(index.slot_count());
  std::vector<Ran> selected(index.kernel_count()), in_share = selected, beside_share = selected,
                                                   beside = selected;
  for (uint32_t slot = 0; slot < index.slot_count(); ++slot) {
    const uint32_t site = index.site_of_slot(slot);
    const uint64_t launches = LaunchesIn(process, slot, phase);
    const auto exclusive_ns = static_cast<double>(TimesIn(process, slot, phase).exclusive_ns);
    tally.all_ns += exclusive_ns;
    const auto add_to = [&](std::vector<Ran>& ran) {
      Ran& of_kernel = ran[index.kernel_of_site(site)];
      of_kernel.launches += launches;
      of_kernel.steady += index.launches()[slot].steady;
      of_kernel.warmup += index.launches()[slot].warmup;
      of_kernel.exclusive_ns += exclusive_ns;
    };
    const catalog::Kind kind = index.kind_of_site(site);
    const bool of_share_kind = !selection.share_kind || kind == *selection.share_kind;
    // A kernel that is asked for by its name or origin may be of the share's kind, if its own is
    // unknown.
    const bool may_be_of_share_kind =
        kind == catalog::Kind::kOther && (selection.kernel || selection.code);
    const Membership member = of_slot[slot] = std::min(in[site], range_matcher.Of(slot));
    if (member == Membership::kIn) {
      tally.selected.launches += launches;
      tally.selected_ns += exclusive_ns;
      tally.steady += index.launches()[slot].steady;
      tally.warmup += index.launches()[slot].warmup;
      tally.captured += index.IsGraphSlot(slot) ? 1 : 0;
      add_to(selected);
      if (of_share_kind) {
        tally.in_share.launches += launches;
        add_to(in_share);
      } else {
        tally.of_other_kinds += launches;
        if (may_be_of_share_kind) tally.in_share.possible += launches;
      }
    } else if (member == Membership::kPossible) {
      tally.selected.possible += launches;
      tally.possible_ns += exclusive_ns;
      if (of_share_kind || may_be_of_share_kind) tally.in_share.possible += launches;
      // An unknown shape alone puts a launch into the whole only if it is selected.
      const bool unknown_beside_shape = selection.code || selection.range;
      if (in_whole[site] == Membership::kIn ||
          (in_whole[site] == Membership::kPossible && unknown_beside_shape)) {
        tally.possible_in_whole += launches;
      }
    } else if (in_whole[site] == Membership::kIn) {
      tally.others.launches += launches;
      add_to(beside_share);
    } else if (in_whole[site] == Membership::kPossible) {
      tally.others.possible += launches;
    }
    if (member == Membership::kOut) add_to(beside);
  }
  tally.ran_selected = ByName(index, selected);
  tally.ran_in_share = ByName(index, in_share);
  tally.ran_beside_share = ByName(index, beside_share);
  tally.ran_beside = ByName(index, beside);
  tally.graphs = ReplaysOf(process, phase, of_slot);
  return tally;
}

void AddLargest(const RanByName& ran, bool by_time, report::Check* check) {
  std::vector<const RanByName::value_type*> largest;
  for (const auto& of_name : ran) largest.push_back(&of_name);
  std::stable_sort(largest.begin(), largest.end(), [by_time](const auto* a, const auto* b) {
    return by_time ? a->second.exclusive_ns > b->second.exclusive_ns
                   : a->second.launches > b->second.launches;
  });
  if (largest.size() > kNearNames) largest.resize(kNearNames);
  for (const auto* of_name : largest)
    AddOneNear(of_name->first, of_name->second.steady, of_name->second.warmup, check);
}

void AddNear(const Selection& selection, std::span<const ProcessAnalysis* const> processes,
             report::Check* check) {
  struct Instead {
    uint64_t launches = 0, warmup = 0;
    bool has_shape = false;
  };
  absl::btree_map<std::string, Instead> by_name;
  for (const ProcessAnalysis* process : processes) {
    const TraceIndex& index = *process->index;
    Selection shape_only;
    shape_only.shape = selection.shape;
    shape_only.kind = catalog::Kind::kGemm;
    const SiteMatcher of_shape(shape_only, index);
    for (uint32_t slot = 0; slot < index.slot_count(); ++slot) {
      const uint32_t site = index.site_of_slot(slot);
      const SlotLaunches& launches = index.launches()[slot];
      if (site == 0 || launches.total() == 0) continue;
      const bool gemms_only = selection.shape || (selection.path && !selection.kernel);
      if (gemms_only && of_shape.OfWhole(site) == Membership::kOut) continue;
      Instead& ran = by_name[index.kernel(index.kernel_of_site(site)).canonical];
      ran.has_shape |= of_shape.OfWhole(site) == Membership::kIn;
      ran.launches += launches.steady;
      ran.warmup += launches.warmup;
    }
  }
  // Of a shape: what ran it, if anything did; what may have, else.
  const bool shape_ran =
      selection.shape &&
      std::any_of(by_name.begin(), by_name.end(), [](auto& ran) { return ran.second.has_shape; });
  std::vector<std::string> names;
  std::vector<uint64_t> weights;
  for (const auto& [name, ran] : by_name) {
    if (shape_ran && !ran.has_shape) continue;
    names.push_back(name);
    weights.push_back(ran.launches);
  }
  std::string pattern = selection.kernel_pattern;
  if (pattern.empty() && selection.path) pattern = std::string(catalog::PathName(*selection.path));
  if (selection.shape) pattern.clear();  // what ran the shape most says more than a name
  for (const size_t i : NearestNames(pattern, names, weights, kNearNames)) {
    AddOneNear(names[i], by_name[names[i]].launches, by_name[names[i]].warmup, check);
  }
}

}  // namespace hotproof::analyzers
