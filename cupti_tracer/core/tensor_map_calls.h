// The driver's tensor map calls, as evidence for shapes: what each 128-byte map was made from. Called in
// CUPTI callbacks, on the thread that made the call.
#pragma once

#include <cupti.h>

#include "cupti_tracer/core/sites.h"

namespace hotproof::tracer {

// cuTensorMapEncodeTiled, Im2col, Im2colWide or ReplaceAddress returned successfully.
void OnTensorMapCall(Sites& sites, CUpti_CallbackId id, const void* params);
// cuTensorMapReplaceAddress is about to change a map's bytes.
void OnTensorMapReplaceEntered(const Sites& sites, const void* params);

}  // namespace hotproof::tracer
