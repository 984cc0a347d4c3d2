// What a loaded cubin says about itself. Pure; any thread; never reads beyond what it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hotproof::tracer {

// Whether code in this cubin calls the device runtime to launch kernels or graphs: launches that CUPTI
// never reports. Seen in cubins of nvcc 13.0: a kernel that launches (or copies) on the device brings the
// symbol __cuda_syscall_cnpv2LaunchDeviceV2 (CDP1: __cuda_syscall_cnpLaunchDevice...), one that launches
// graphs cudaGraphLaunch; code that only links the device runtime brings neither.
bool LaunchesFromDevice(std::span<const uint8_t> cubin);

}  // namespace hotproof::tracer
