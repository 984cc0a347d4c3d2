// What an NVTX call says: its domain, its text, its payload. Used by the functions that stand in
// NVTX's tables (nvtx_table.h), on the thread that makes the call.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "cupti_tracer/ranges/range_stack.h"

namespace hotproof::tracer {

using NvtxAttributes = const nvtxEventAttributes_t*;

inline std::string_view NvtxView(const char* text) {
  return text == nullptr ? std::string_view() : text;
}

// The domain's number (ranges/range_domains.h); kMaxDomains: one that was not kept.
uint32_t NvtxDomainOf(nvtxDomainHandle_t handle);

// `wide` holds the text if it has to be converted, as long as the view is used.
std::string_view NvtxMessageOf(NvtxAttributes attributes, std::string& wide);

// Nothing where there is none, or a pointer to extended data.
void SetNvtxPayload(NvtxAttributes attributes, RangeLabel& label);

}  // namespace hotproof::tracer
