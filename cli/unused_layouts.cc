#include "cli/unused_layouts.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "analyzers/shape_evidence.h"

namespace hotproof::cli {
namespace {

struct Layouts {
  std::set<std::string> of_a_kernel, read;  // ids
};

Layouts LayoutsOf(const catalog::Classifier& classifier,
                  std::span<const analyzers::ProcessAnalysis> processes) {
  Layouts layouts;
  for (const analyzers::ProcessAnalysis& process : processes) {
    const analyzers::TraceIndex& index = *process.index;
    std::vector<std::vector<const catalog::CompiledLayout*>> of_kernel(index.kernel_count());
    for (uint32_t id = 1; id < index.kernel_count(); ++id) {
      const analyzers::KernelInfo& kernel = index.kernel(id);
      of_kernel[id] = classifier.LayoutsOf(kernel.name, kernel.kernel_class);
      for (const catalog::CompiledLayout* layout : of_kernel[id])
        layouts.of_a_kernel.insert(layout->id());
    }
    for (const trace::Site& site : index.tables().sites) {
      const uint32_t id = site.kernel_id();
      if (id == 0 || id >= of_kernel.size() || of_kernel[id].empty()) continue;
      const auto reading = analyzers::ReadArguments(
          site, {index.kernel(id).kernel_class, of_kernel[id]}, index.tables());
      if (reading) layouts.read.insert(reading->layout);
    }
  }
  return layouts;
}

}  // namespace

std::vector<report::Problem> UnusedLayouts(const catalog::RuleSet& rules,
                                           const catalog::Classifier& classifier,
                                           std::span<const analyzers::ProcessAnalysis> processes) {
  std::vector<report::Problem> unused;
  if (rules.layout().empty()) return unused;
  const Layouts layouts = LayoutsOf(classifier, processes);
  for (const catalog::Layout& layout : rules.layout()) {
    if (layouts.read.contains(layout.id())) continue;
    report::Problem& problem = unused.emplace_back();
    problem.set_severity(report::Problem::INFO);
    if (layouts.of_a_kernel.contains(layout.id())) {
      problem.set_detail(absl::StrCat("layout ", layout.id(), " read no launch"));
      problem.set_advice(
          "compare its parameters with those of the kernel: their sizes have to be the same");
    } else {
      problem.set_detail(absl::StrCat("layout ", layout.id(), " is for no kernel of the trace"));
      problem.set_advice(
          "compare its rule with the one that hotproof classify shows, and its name");
    }
  }
  return unused;
}

}  // namespace hotproof::cli
