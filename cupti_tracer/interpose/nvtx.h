// NVTX marks whose text begins with "hotproof." become the tracer's marks. Called by NVTX once per
// module that uses it.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <string>

namespace hotproof::tracer {

// `chained_path`: another tool's NVTX injection library, initialised first and called through to.
int InitializeNvtx(NvtxGetExportTableFunc_t get_export_table, const std::string& chained_path);

}  // namespace hotproof::tracer
