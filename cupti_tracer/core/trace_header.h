// What a trace says once about its process, its CUPTI and its GPUs. Pure readers of what they are given;
// called by Session.
#pragma once

#include <string>

#include "cupti_tracer/core/config.h"
#include "cupti_tracer/core/cupti_api.h"
#include "cupti_tracer/core/process_info.h"
#include "trace/writer.h"

namespace hotproof::tracer {

trace::HeaderEntry DescribeProcess(const Config& config, const ProcessInfo& process, const Cupti& cupti,
                                   const std::string& chained_injection, uint64_t start_realtime_ns);

// Driver version and GPUs. Calls the driver: not inside one of its callbacks.
trace::HeaderEntry DescribeDevices(const Driver& driver);

}  // namespace hotproof::tracer
