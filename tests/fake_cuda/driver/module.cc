// Modules, libraries, functions. An image is a cubin (elf_image.h) or PTX text: its ".visible .entry" lines
// name the kernels and their parameters; the text itself stands for the cubin.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <mutex>

#include "tests/fake_cuda/driver/driver.h"
#include "tests/fake_cuda/driver/elf_image.h"

namespace fake_cuda {
namespace {

// Arguments start at this offset of the constant bank; alignment counts from the bank's start (the
// H200 gives offset 48 for a first parameter of alignment 64).
constexpr size_t kParameterBase = 0x210;

size_t NumberAfter(const std::string& text, size_t at) {
  while (at < text.size() && isdigit(static_cast<unsigned char>(text[at])) == 0) ++at;
  return strtoull(text.c_str() + at, nullptr, 10);
}

// One ".param" declaration: ".param .u64 p", ".param .align 64 .b8 m[128]".
void AddParameter(KernelInfo& kernel, const std::string& text) {
  size_t size = 0, align = 0;
  const size_t aligned = text.find(".align");
  if (aligned != std::string::npos) align = NumberAfter(text, aligned);
  const size_t array = text.find('[');
  for (const char* type : {".b8", ".u8", ".s8", ".u16", ".s16", ".b16", ".u32", ".s32", ".b32",
                           ".f32", ".u64", ".s64", ".b64", ".f64"}) {
    const size_t at = text.find(type);
    if (at != std::string::npos) size = NumberAfter(text, at) / 8;
  }
  if (align == 0) align = std::max<size_t>(size, 1);
  if (array != std::string::npos) size *= NumberAfter(text, array);
  const size_t start = kParameterBase + kernel.parameter_bytes;
  const size_t offset = (start + align - 1) / align * align - kParameterBase;
  kernel.parameters.push_back({offset, size});
  kernel.parameter_bytes = offset + size;
}

std::shared_ptr<Image> ParseImage(const void* code) {
  auto image = std::make_shared<Image>();
  if (IsElf(code)) {
    image->bytes = ElfBytes(code);
    for (const std::string& name : ElfKernels(image->bytes)) {
      image->kernels.push_back(std::make_shared<KernelInfo>());
      image->kernels.back()->name = strdup(name.c_str());
    }
    return image;
  }
  image->bytes = static_cast<const char*>(code);
  const std::string& text = image->bytes;
  const std::string entry = ".entry ";
  for (size_t at = text.find(entry); at != std::string::npos; at = text.find(entry, at)) {
    at += entry.size();
    const size_t open = text.find('(', at), close = text.find(')', at);
    if (open == std::string::npos || close == std::string::npos) break;
    std::string name = text.substr(at, open - at);
    name.erase(std::remove_if(name.begin(), name.end(), [](unsigned char c) { return isspace(c); }),
               name.end());
    auto kernel = std::make_shared<KernelInfo>();
    kernel->name = strdup(name.c_str());
    for (size_t p = text.find(".param", open); p < close; p = text.find(".param", p + 1)) {
      size_t end = text.find(".param", p + 1);
      AddParameter(*kernel, text.substr(p + 6, std::min(end, close) - p - 6));
    }
    image->kernels.push_back(std::move(kernel));
  }
  return image;
}

std::mutex g_mutex;  // modules of contexts, functions of modules

CUmodule LoadModule(std::shared_ptr<Image> image, CUcontext context) {
  auto* module = new CUmod_st;
  module->context = context;
  module->image = std::move(image);
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    module->id = context->next_module_id++;
    context->modules.push_back(module);
  }
  ReportModule(CUPTI_CBID_RESOURCE_MODULE_LOADED, module);
  return module;
}

void UnloadModule(CUmodule module) {
  ReportModule(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, module);
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    std::erase(module->context->modules, module);
  }
  delete module;
}

std::shared_ptr<KernelInfo> FindKernel(const Image& image, const char* name) {
  for (const auto& kernel : image.kernels)
    if (strcmp(kernel->name, name) == 0) return kernel;
  return nullptr;
}

CUfunction FunctionOf(CUmodule module, const std::shared_ptr<KernelInfo>& info) {
  std::lock_guard<std::mutex> lock(g_mutex);
  for (const auto& function : module->functions)
    if (function->info == info) return function.get();
  module->functions.push_back(std::make_unique<CUfunc_st>());
  CUfunction function = module->functions.back().get();
  function->module = module;
  function->info = info;
  return function;
}

CUfunction KernelsFunction(CUkernel kernel) {
  CUcontext context = CurrentContext();
  CUmodule module = nullptr;
  bool load = false;
  {
    std::lock_guard<std::mutex> lock(kernel->library->mutex);
    auto [it, fresh] = kernel->library->modules.try_emplace(context, nullptr);
    load = fresh;
    module = it->second;
  }
  if (load) {  // lazily, inside whatever call comes first
    module = LoadModule(kernel->library->image, context);
    std::lock_guard<std::mutex> lock(kernel->library->mutex);
    kernel->library->modules[context] = module;
  }
  return module == nullptr ? nullptr : FunctionOf(module, kernel->info);
}

bool IsFunction(CUfunction f) { return f != nullptr && f->kind == HandleKind::kFunction; }
bool IsKernel(CUkernel k) { return k != nullptr && k->kind == HandleKind::kKernel; }

CUresult ParameterInfo(const KernelInfo& info, size_t index, size_t* offset, size_t* size) {
  if (index >= info.parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = info.parameters[index].offset;
  if (size != nullptr) *size = info.parameters[index].size;
  return CUDA_SUCCESS;
}

}  // namespace

void ReportModule(CUpti_CallbackId id, CUmodule module) {
  CUpti_ModuleResourceData data = {module->id, module->image->bytes.size(),
                                   module->image->bytes.data()};
  ReportResource(id, module->context, nullptr, &data);
}

const char* FunctionName(CUfunction f) {
  if (IsFunction(f)) return f->info->name;
  const auto kernel = reinterpret_cast<CUkernel>(f);
  return IsKernel(kernel) ? kernel->info->name : nullptr;
}

CUfunction ResolveFunction(CUfunction f) {
  if (IsFunction(f)) return f;
  const auto kernel = reinterpret_cast<CUkernel>(f);
  return IsKernel(kernel) ? KernelsFunction(kernel) : nullptr;
}

void GatherArguments(const KernelInfo& info, void** kernel_params, void** extra, uint8_t* to) {
  if (info.parameter_bytes == 0) return;  // `to` may be null then
  memset(to, 0, info.parameter_bytes);
  if (kernel_params != nullptr) {
    for (size_t i = 0; i < info.parameters.size(); ++i)
      memcpy(to + info.parameters[i].offset, kernel_params[i], info.parameters[i].size);
    return;
  }
  const void* buffer = nullptr;
  size_t size = 0;
  for (size_t i = 0; extra != nullptr && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[i + 1];
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<size_t*>(extra[i + 1]);
  }
  if (buffer != nullptr) memcpy(to, buffer, std::min(size, info.parameter_bytes));
}

void UnloadAllModules(CUcontext context) {
  while (!context->modules.empty()) UnloadModule(context->modules.back());
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_EXPORT CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  FAKE_CALL(cuModuleGetLoadingMode, mode);
  *mode = CU_MODULE_LAZY_LOADING;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  FAKE_CALL(cuModuleLoadData, module, image);
  if (CurrentContext() == nullptr) return call.Return(CUDA_ERROR_INVALID_CONTEXT);
  *module = LoadModule(ParseImage(image), CurrentContext());
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                                        CUjit_option* options, void** values) {
  FAKE_CALL(cuModuleLoadDataEx, module, image, count, options, values);
  if (CurrentContext() == nullptr) return call.Return(CUDA_ERROR_INVALID_CONTEXT);
  *module = LoadModule(ParseImage(image), CurrentContext());
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuModuleUnload(CUmodule module) {
  FAKE_CALL(cuModuleUnload, module);
  UnloadModule(module);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  FAKE_CALL(cuModuleGetFunction, function, module, name);
  const auto kernel = FindKernel(*module->image, name);
  if (kernel == nullptr) return call.Return(CUDA_ERROR_NOT_FOUND);
  *function = FunctionOf(module, kernel);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit,
                                       void** jit_values, unsigned jit_count,
                                       CUlibraryOption* options, void** values, unsigned count) {
  FAKE_CALL(cuLibraryLoadData, library, code, jit, jit_values, jit_count, options, values, count);
  *library = new CUlib_st;
  (*library)->image = ParseImage(code);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuLibraryUnload(CUlibrary library) {
  FAKE_CALL(cuLibraryUnload, library);
  for (const auto& [context, module] : library->modules)
    if (module != nullptr) UnloadModule(module);
  delete library;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  FAKE_CALL(cuLibraryGetKernel, kernel, library, name);
  const auto info = FindKernel(*library->image, name);
  if (info == nullptr) return call.Return(CUDA_ERROR_NOT_FOUND);
  std::lock_guard<std::mutex> lock(library->mutex);
  library->kernels.push_back(std::make_unique<CUkern_st>());
  *kernel = library->kernels.back().get();
  (*kernel)->library = library;
  (*kernel)->info = info;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  FAKE_CALL(cuKernelGetFunction, function, kernel);
  if (!IsKernel(kernel)) return call.Return(CUDA_ERROR_INVALID_HANDLE);
  *function = KernelsFunction(kernel);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  FAKE_CALL(cuKernelGetName, name, kernel);
  if (!IsKernel(kernel)) return call.Return(CUDA_ERROR_INVALID_HANDLE);
  *name = kernel->info->name;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
  FAKE_CALL(cuKernelGetLibrary, library, kernel);
  if (!IsKernel(kernel)) return call.Return(CUDA_ERROR_INVALID_HANDLE);
  *library = kernel->library;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset,
                                          size_t* size) {
  FAKE_CALL(cuKernelGetParamInfo, kernel, index, offset, size);
  if (!IsKernel(kernel)) return call.Return(CUDA_ERROR_INVALID_HANDLE);
  return call.Return(ParameterInfo(*kernel->info, index, offset, size));
}

FAKE_EXPORT CUresult cuFuncGetName(const char** name, CUfunction function) {
  FAKE_CALL(cuFuncGetName, name, function);
  if (!IsFunction(function)) return call.Return(CUDA_ERROR_INVALID_HANDLE);
  *name = function->info->name;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  FAKE_CALL(cuFuncGetModule, module, function);
  if (!IsFunction(function)) return call.Return(CUDA_ERROR_INVALID_HANDLE);
  *module = function->module;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset,
                                        size_t* size) {
  FAKE_CALL(cuFuncGetParamInfo, function, index, offset, size);
  if (!IsFunction(function)) return call.Return(CUDA_ERROR_INVALID_HANDLE);
  return call.Return(ParameterInfo(*function->info, index, offset, size));
}

FAKE_EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute,
                                        CUfunction function) {
  FAKE_CALL(cuFuncGetAttribute, value, attribute, function);
  *value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? 16 : 0;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                                        int value) {
  FAKE_CALL(cuFuncSetAttribute, function, attribute, value);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z) {
  cuFuncSetBlockShape_params params = {function, x, y, z};
  Call call(CUPTI_DRIVER_TRACE_CBID_cuFuncSetBlockShape, "cuFuncSetBlockShape", &params,
            FunctionName(function));
  if (!call.allowed()) return CUDA_ERROR_NOT_INITIALIZED;
  function->block[0] = static_cast<unsigned>(x);
  function->block[1] = static_cast<unsigned>(y);
  function->block[2] = static_cast<unsigned>(z);
  return call.Return(CUDA_SUCCESS);
}
