// What lies beside the traces in a run's folder and tells of processes whose trace is not among
// those that are read: the manifest, other traces, counter files without a trace. Used by LoadRun.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzers/coverage.h"
#include "proto/manifest.pb.h"

namespace hotproof::cli {

inline constexpr char kNotNamed[] = "not_named";  // the problem's name in reports

struct FolderEvidence {
  std::string named_in_vain;  // the folder, where it was named and holds no trace
  std::vector<trace::Manifest> manifests;     // one or none
  std::vector<trace::Process> without_trace;  // their counter file is there, their trace is gone
  std::vector<trace::Process>
      not_named;  // their trace is there, but was not named; not in `manifests`
};

// `named`: the traces that are read, canonical; those of other folders do no harm. Errors: one line
// with what to do (a manifest that is none).
absl::StatusOr<FolderEvidence> LookBeside(const std::string& folder,
                                          const std::vector<std::string>& named);

// Adds to `coverage`, which was judged by the manifests, what they do not know.
void AddEvidence(const FolderEvidence& evidence, analyzers::Coverage& coverage);

}  // namespace hotproof::cli
