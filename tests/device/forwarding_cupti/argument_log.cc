#include "tests/device/forwarding_cupti/argument_log.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/device/forwarding_cupti/log.h"
#include "tests/device/forwarding_cupti/safe_read.h"

namespace forwarder {
namespace {

struct Launch {
  CUfunction function;
  unsigned grid[3];
  void** params;
  void** extra;
};

template <typename Plain>
Launch FromPlain(const void* params) {
  const auto& p = *static_cast<const Plain*>(params);
  return {p.f, {p.gridDimX, p.gridDimY, p.gridDimZ}, p.kernelParams, p.extra};
}

template <typename Extended>
Launch FromExtended(const void* params) {
  const auto& p = *static_cast<const Extended*>(params);
  return {
      p.f, {p.config->gridDimX, p.config->gridDimY, p.config->gridDimZ}, p.kernelParams, p.extra};
}

std::optional<Launch> LaunchOf(CUpti_CallbackId id, const void* params) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
      return FromPlain<cuLaunchKernel_params>(params);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      return FromPlain<cuLaunchKernel_ptsz_params>(params);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
      return FromExtended<cuLaunchKernelEx_params>(params);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
      return FromExtended<cuLaunchKernelEx_ptsz_params>(params);
    default:
      return std::nullopt;
  }
}

const char* Packed(void** extra) {
  for (void** entry = extra; entry != nullptr && *entry != CU_LAUNCH_PARAM_END; entry += 2) {
    if (*entry == CU_LAUNCH_PARAM_BUFFER_POINTER) return static_cast<const char*>(entry[1]);
  }
  return nullptr;
}

struct Parameter {
  size_t offset, size;
};

// A launch may carry a CUkernel in the CUfunction's place.
std::vector<Parameter> ParametersOf(CUfunction function) {
  using Get = CUresult(void*, size_t, size_t*, size_t*);
  // Whoever loaded the driver may have kept its names to itself.
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return {};
  for (const char* name : {"cuFuncGetParamInfo", "cuKernelGetParamInfo"}) {
    auto* const get = reinterpret_cast<Get*>(dlsym(driver, name));
    std::vector<Parameter> parameters;
    Parameter parameter{};
    CUresult result = CUDA_ERROR_NOT_FOUND;
    while (get != nullptr && (result = get(function, parameters.size(), &parameter.offset,
                                           &parameter.size)) == CUDA_SUCCESS) {
      parameters.push_back(parameter);
    }
    if (result == CUDA_ERROR_INVALID_VALUE) return parameters;  // past the last one
  }
  return {};
}

std::string Hex(const std::string& bytes) {
  std::string text;
  char two[3];
  for (const char byte : bytes) {
    snprintf(two, sizeof two, "%02x", static_cast<unsigned char>(byte));
    text += two;
  }
  return text;
}

size_t MostPerFunction() {
  static const size_t most = [] {
    const char* text = getenv("FORWARD_ARGUMENTS");
    return text == nullptr ? size_t{0} : strtoull(text, nullptr, 10);
  }();
  return most;
}

}  // namespace

bool LogsArguments() { return MostPerFunction() != 0; }

void LogArguments(CUpti_CallbackId id, const CUpti_CallbackData& data) {
  if (data.callbackSite != CUPTI_API_ENTER) return;
  const std::optional<Launch> launch = LaunchOf(id, data.functionParams);
  if (!launch) return;
  struct Function {
    std::vector<Parameter> parameters;
    std::set<std::string> seen;
  };
  static auto& mutex = *new std::mutex;  // never destroyed, as the log
  static auto& functions = *new std::map<CUfunction, Function>;
  std::lock_guard<std::mutex> lock(mutex);
  auto [found, fresh] = functions.try_emplace(launch->function);
  Function& function = found->second;
  if (fresh) function.parameters = ParametersOf(launch->function);
  if (function.parameters.empty() || function.seen.size() >= MostPerFunction()) return;
  std::string places = "[", all;
  const char* const packed = launch->params == nullptr ? Packed(launch->extra) : nullptr;
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const Parameter& parameter = function.parameters[i];
    const void* from = packed != nullptr           ? packed + parameter.offset
                       : launch->params != nullptr ? launch->params[i]
                                                   : nullptr;
    std::string bytes(parameter.size, '\0');
    bytes.resize(SafeRead(from, bytes.data(), bytes.size()));
    places += std::string(i == 0 ? "[" : ",[") + std::to_string(parameter.offset) + ",\"" +
              Hex(bytes) + "\"]";
    all += bytes;
  }
  all.append(reinterpret_cast<const char*>(launch->grid), sizeof launch->grid);
  if (!function.seen.insert(all).second) return;
  char grid[64];
  snprintf(grid, sizeof grid, "[%u,%u,%u]", launch->grid[0], launch->grid[1], launch->grid[2]);
  const auto symbol = SafeString(data.symbolName);
  Line("arguments")
      .Text("sym", symbol ? symbol->c_str() : nullptr)
      .Raw("grid", grid)
      .Raw("parameters", places + "]")
      .End();
}

}  // namespace forwarder
