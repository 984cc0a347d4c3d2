// The device code that a file embeds, as a kernel's identity: hashes of its cubins, made the way the tracer
// hashes the cubins that a driver loads. Files: cubins, fat binaries, and whatever holds them (objects,
// libraries, programs). Pure but for ReadDeviceCode.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace hotproof::cli {

struct DeviceCode {
  std::set<uint64_t> cubin_hashes;  // XXH3-64
  // Kernels that are there as PTX, too: the driver may compile it, and the cubin it then loads is in no
  // file.
  std::set<std::string> ptx_kernels;  // mangled
  // Parts whose cubins could not be had, and why, for the last of them.
  uint32_t unreadable = 0;
  std::string why_unreadable;
  // The file ends before something in it does, and what that is: what is missing may be any kernel's. "": whole.
  std::string cut_off;

  bool empty() const { return cubin_hashes.empty() && ptx_kernels.empty() && unreadable == 0; }
};

DeviceCode FindDeviceCode(std::span<const uint8_t> file);

// Errors: the file cannot be read, is cut off, or holds no device code.
absl::StatusOr<DeviceCode> ReadDeviceCode(const std::string& path);

}  // namespace hotproof::cli
