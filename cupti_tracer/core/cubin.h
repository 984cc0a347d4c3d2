// What a loaded cubin says about itself. Pure; any thread; never reads beyond what it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hotproof::tracer {

// Whether code in this cubin calls the device runtime to launch kernels or graphs: launches that CUPTI
// never reports. Seen in cubins of nvcc 13.0: a kernel that launches (or copies) on the device brings the
// symbol __cuda_syscall_cnpv2LaunchDeviceV2 (CDP1: __cuda_syscall_cnpLaunchDevice...), one that launches
// graphs cudaGraphLaunch; code that only links the device runtime brings neither.
bool LaunchesFromDevice(std::span<const uint8_t> cubin);

// Names of the functions that this cubin has code for: sections .text.NAME. Views of `cubin`.
std::vector<std::string_view> FunctionNames(std::span<const uint8_t> cubin);

// What a cubin was built for: 90 and "a" for sm_90a. Number 0: it does not say.
struct CubinArchitecture {
  uint32_t number = 0;  // 10 * major + minor
  std::string suffix;   // "a", "f" or none
};

// The number is in the ELF header's flags: their lowest byte up to ABI version 7 (nvcc before 13; bit 11:
// "a"), the second one from version 8 on, which leaves the suffix to the options that ptxas notes (seen in
// cubins of nvcc 13.0 for sm_75 to sm_120f).
CubinArchitecture ArchitectureOf(std::span<const uint8_t> cubin);

}  // namespace hotproof::tracer
