#include "analyzers/range_index.h"

#include <bit>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace hotproof::analyzers {
namespace {

std::string PayloadText(const trace::RangePath& path) {
  switch (path.payload_kind()) {
    case trace::PAYLOAD_UNSIGNED:
      return absl::StrCat("(", path.payload(), ")");
    case trace::PAYLOAD_SIGNED:
      return absl::StrCat("(", static_cast<int64_t>(path.payload()), ")");
    case trace::PAYLOAD_DOUBLE:
      return absl::StrCat("(", std::bit_cast<double>(uint64_t{path.payload()}), ")");
    case trace::PAYLOAD_VARIES:
      return "(many)";
    default:
      return "";
  }
}

// What `name` adds to the name of the range that it is in: "mlp" for "layers.3.mlp" in "layers.3".
std::string_view WithoutOuter(std::string_view name, std::string_view outer) {
  const bool repeats = !outer.empty() && name.size() > outer.size() + 1 &&
                       name.starts_with(outer) && name[outer.size()] == '.';
  return repeats ? name.substr(outer.size() + 1) : name;
}

// `outer`: the range around it, or null.
std::string StepText(const trace::RangePath& path, const trace::RangePath* outer) {
  if (path.many()) return "(many)";
  const std::string domain = path.domain().empty() ? "" : absl::StrCat(path.domain(), ":");
  // Starts and ends don't nest.
  const bool nested = outer != nullptr && outer->domain() == path.domain() &&
                      path.source() != trace::RANGE_START_END;
  const std::string name(path.name().empty() ? "(unnamed)"
                         : nested            ? WithoutOuter(path.name(), outer->name())
                                             : path.name());
  std::string text = absl::StrCat(domain, name, PayloadText(path));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';  // a line of a table stays one
  }
  return path.source() == trace::RANGE_START_END ? absl::StrCat("[", text, "]") : text;
}

// Of a step's text what is known, kUnknown behind or in place of what the tracer kept no more of
// (docs/ranges.md).
std::string PartialText(const trace::RangePath& path, const std::string& text) {
  constexpr size_t kMaxNameBytes = 255, kMaxCharacterBytes = 4;  // cut between characters
  const std::string unknown(1, RangeIndex::kUnknown);
  if (path.many() || path.name() == "(many)" || path.domain() == "(many domains)" ||
      path.domain().size() >= kMaxNameBytes) {
    return unknown;
  }
  const bool may_be_cut = path.name().size() > kMaxNameBytes - kMaxCharacterBytes;
  if (!may_be_cut && path.payload_kind() != trace::PAYLOAD_VARIES) return text;
  const size_t bracket = path.source() == trace::RANGE_START_END ? 1 : 0;
  return text.substr(0, text.size() - bracket - PayloadText(path).size()) + unknown;
}

}  // namespace

RangeIndex::RangeIndex(const TraceIndex& index) {
  const trace::Tables& tables = index.tables();
  if (tables.range_paths.size() <= 1) return;
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint32_t> ranges = {{{0, 0}, 0}};
  struct Texts {
    std::string shown, known;  // `known`: with kUnknown
    void Append(const trace::RangePath& step, const trace::RangePath* outer) {
      const std::string text = StepText(step, outer);
      absl::StrAppend(&shown, shown.empty() ? "" : "/", text);
      absl::StrAppend(&known, known.empty() ? "" : "/", PartialText(step, text));
    }
  };
  const auto append = [&](uint32_t path, Texts& text, Texts& whole) {
    std::vector<const trace::RangePath*> steps;
    for (; path != 0; path = tables.range_paths[path].parent()) {
      steps.push_back(&tables.range_paths[path]);
      any_of_program_ |= steps.back()->domain().empty();
    }
    const trace::RangePath* outer = nullptr;
    while (!steps.empty()) {
      const trace::RangePath& step = *steps.back();
      text.Append(step, outer);
      whole.Append(step, nullptr);
      outer = &step;
      steps.pop_back();
    }
  };
  const auto range_of = [&](uint32_t process, uint32_t thread) {
    const auto [found, is_new] =
        ranges.try_emplace({process, thread}, static_cast<uint32_t>(texts_.size()));
    if (is_new) {
      Texts text, whole;
      append(process, text, whole);
      append(thread, text, whole);
      const bool partial = whole.known.find(kUnknown) != std::string::npos;
      partial_texts_.push_back(partial ? std::vector{text.known, whole.known}
                                       : std::vector<std::string>{});
      texts_.push_back(std::move(text.shown));
      whole_texts_.push_back(std::move(whole.shown));
    }
    return found->second;
  };
  slot_range_.assign(index.slot_count(), 0);
  for (uint32_t id = 1; id < tables.sites.size(); ++id) {
    slot_range_[id] = range_of(tables.sites[id].process_ranges(), tables.sites[id].range_path());
  }
  for (uint32_t id = 1; id < tables.graphs.size(); ++id) {
    const trace::GraphTable& graph = tables.graphs[id];
    const auto at = [](const std::vector<uint32_t>& paths, size_t node) {
      return node < paths.size() ? paths[node] : 0;
    };
    for (size_t node = 0; node < graph.node_sites.size(); ++node) {
      slot_range_[index.first_slot_of_graph(id) + node] =
          range_of(at(graph.node_process_ranges, node), at(graph.node_range_paths, node));
    }
  }
}

}  // namespace hotproof::analyzers
