// hotproof-manifest.json: what `hotproof run` saw, as proto/manifest.proto says. Rewritten as the
// run goes on, each time whole or not at all. Used by `hotproof run` on its only thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/process_tree.h"
#include "cli/trace_identity.h"
#include "proto/manifest.pb.h"

namespace hotproof::cli {

inline constexpr char kManifestName[] = "hotproof-manifest.json";

// The traces of a folder. Each file is read until its header was found, then never again.
class TraceFolder {
 public:
  explicit TraceFolder(std::string path) : path_(std::move(path)) {}
  void Refresh();
  std::vector<TraceIdentity> traces() const;

 private:
  std::string path_;
  std::map<std::string, std::optional<TraceIdentity>> by_name_;
};

// Sets `processes` of the manifest: everything seen, then processes that only their trace tells of.
// A process is a GPU process when it opened /dev/nvidia-uvm, left a trace, or says that it could
// not.
void FillProcesses(const std::vector<SeenProcess>& seen, const std::vector<TraceIdentity>& traces,
                   trace::Manifest& manifest);

// Writes the manifest into `folder` through a temporary file and rename, mode 0600. `is_first`: not over one
// that is there (EEXIST): of two runs that begin at one moment one has the folder. False: errno says why, and
// the manifest that was there is still there.
bool WriteManifest(const std::string& folder, const trace::Manifest& manifest, bool is_first = false);

}  // namespace hotproof::cli
