// The tracer as NVTX's injection: ranges tell launches where they are (ranges/), and marks whose text begins
// with "hotproof." become the tracer's marks. Called by NVTX once per module that uses it. A tool that the
// user has configured is initialised, too, and still gets every call; its return values are the program's.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <string>

namespace hotproof::tracer {

// `chained_path`: the other tool's NVTX injection library; empty: none.
int InitializeNvtx(NvtxGetExportTableFunc_t get_export_table, const std::string& chained_path);

// NVTX's extensions (payload schemas, memory, counters) are the other tool's alone. 0: it takes none.
int InitializeChainedNvtxExtension(void* module_info, const std::string& chained_path);

}  // namespace hotproof::tracer
