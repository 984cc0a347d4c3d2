#include "analyzers/kinds.h"

#include <map>

#include "analyzers/number.h"

namespace hotproof::analyzers {

void Kinds::Merge(const ProcessAnalysis& process) {
  const TraceIndex& index = *process.index;
  std::vector<uint32_t> row_of_site(index.site_count());
  std::map<catalog::Kind, uint32_t> row_of_kind;
  for (uint32_t site = 0; site < index.site_count(); ++site) {
    const catalog::Kind kind = index.kind_of_site(site);
    const auto [row, is_new] = row_of_kind.try_emplace(kind);
    if (is_new) row->second = rows_.RowOf(std::string(catalog::KindName(kind)));
    row_of_site[site] = row->second;
  }
  rows_.Add(process, row_of_site, phase_);
  attributed_.resize(rows_.size());
  for (uint32_t slot = 0; slot < index.slot_count(); ++slot) {
    if (process.helper_owner[slot] == 0) continue;
    attributed_[row_of_site[index.site_of_slot(slot)]] += LaunchesIn(process, slot, phase_);
  }
  if (!process.eager_order_proven()) return;
  for (const auto& [sites, owned] : process.times.eager_helpers) {
    uint64_t& attributed = attributed_[row_of_site[sites.first]];
    attributed += owned.launches[1];
    if (phase_ == PhaseChoice::kAll) attributed += owned.launches[0];
  }
}

void Kinds::Finish(uint64_t all_exclusive_ns, report::Report* report) const {
  for (const uint32_t index : rows_.Sorted()) {
    report::Kind* row = report->add_kinds();
    row->set_kind(rows_.key(index));
    FillRow(rows_.sums(index), all_exclusive_ns, row);
    row->set_attributed_launches(Number(attributed_[index]));
  }
}

}  // namespace hotproof::analyzers
