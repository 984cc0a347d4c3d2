#include "cupti_tracer/core/trace_header.h"

#include <dlfcn.h>

#include <cstdio>

#include "cupti_tracer/version.h"
#include "trace/quirks.h"

namespace hotproof::tracer {
namespace {

// Whether this library is in the program's global scope (preloaded), or was only opened by the driver.
bool IsPreloaded() {
  void* found = dlsym(RTLD_DEFAULT, "hotproof_mark");
  Dl_info there{}, here{};
  return found != nullptr && dladdr(found, &there) != 0 &&
         dladdr(reinterpret_cast<void*>(&IsPreloaded), &here) != 0 &&
         there.dli_fbase == here.dli_fbase;
}

}  // namespace

trace::HeaderEntry DescribeProcess(const Config& config, const ProcessInfo& process, const Cupti& cupti,
                                   const std::string& chained_injection, uint64_t start_realtime_ns) {
  trace::HeaderEntry header;
  header.format_major = trace::kFormatMajor;
  header.format_minor = trace::kFormatMinor;
  header.hotproof_version = kVersion;
  header.mode = config.mode == Mode::kFull ? 1 : 2;
  header.pid = process.pid;
  header.parent_pid = process.parent_pid;
  header.host = process.host;
  header.boot_id = process.boot_id;
  header.process_start_ticks = process.start_ticks;
  header.executable = process.executable;
  header.arguments = process.arguments;
  header.environment = process.environment;
  header.start_realtime_ns = start_realtime_ns;
  header.cupti_path = cupti.path;
  header.cupti_version = cupti.version;
  header.cupti_header_version = CUPTI_API_VERSION;
  header.interposers = IsPreloaded();
  header.flush_period_ms = config.flush_period_ms;
  header.chained_injection = chained_injection;
  header.driver_name = process.driver_name;
  for (const trace::CuptiQuirk& quirk : trace::kCuptiQuirks) {
    if (cupti.version != 0 && quirk.AppliesTo(cupti.version)) {
      header.quirks.emplace_back(quirk.id);
    }
  }
  return header;
}

trace::HeaderEntry DescribeDevices(const Driver& driver) {
  trace::HeaderEntry header;
  int version = 0, count = 0;
  if (driver.DriverGetVersion != nullptr && driver.DriverGetVersion(&version) == CUDA_SUCCESS) {
    header.driver_version = static_cast<uint32_t>(version);
  }
  if (driver.DeviceGetCount == nullptr || driver.DeviceGetCount(&count) != CUDA_SUCCESS) count = 0;
  for (int i = 0; i < count; ++i) {
    CUdevice device;
    if (driver.DeviceGet == nullptr || driver.DeviceGet(&device, i) != CUDA_SUCCESS) continue;
    trace::DeviceEntry entry;
    entry.id = static_cast<uint32_t>(i);
    char name[256] = {};
    if (driver.DeviceGetName != nullptr &&
        driver.DeviceGetName(name, sizeof name - 1, device) == CUDA_SUCCESS) {
      entry.name = name;
    }
    CUuuid uuid{};
    if (driver.DeviceGetUuid != nullptr && driver.DeviceGetUuid(&uuid, device) == CUDA_SUCCESS) {
      char text[3];
      for (int byte = 0; byte < 16; ++byte) {
        if (byte == 4 || byte == 6 || byte == 8 || byte == 10) entry.uuid += '-';
        std::snprintf(text, sizeof text, "%02x", static_cast<unsigned char>(uuid.bytes[byte]));
        entry.uuid += text;
      }
    }
    const auto attribute = [&](CUdevice_attribute which) {
      int value = 0;
      if (driver.DeviceGetAttribute != nullptr) driver.DeviceGetAttribute(&value, which, device);
      return static_cast<uint32_t>(value);
    };
    entry.compute_capability_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    entry.compute_capability_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    entry.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    entry.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    entry.memory_clock_khz = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
    entry.memory_bus_bits = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
    size_t memory_bytes = 0;
    if (driver.DeviceTotalMem != nullptr) driver.DeviceTotalMem(&memory_bytes, device);
    entry.memory_bytes = memory_bytes;
    header.devices.push_back(std::move(entry));
  }
  return header;
}

}  // namespace hotproof::tracer
