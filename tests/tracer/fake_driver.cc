#include "tests/tracer/fake_driver.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>

namespace hotproof::tracer {
namespace {

FakeState state;

CUresult ParamInfo(void* handle, bool as_library_kernel, size_t index, size_t* offset, size_t* size) {
  const auto found = state.kernels.find(handle);
  if (found == state.kernels.end() || found->second.is_library_kernel != as_library_kernel) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (index >= found->second.offsets.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = found->second.offsets[index];
  *size = found->second.sizes[index];
  return CUDA_SUCCESS;
}

CUresult FuncParamInfo(CUfunction f, size_t index, size_t* offset, size_t* size) {
  return ParamInfo(f, false, index, offset, size);
}
CUresult KernelParamInfo(CUkernel k, size_t index, size_t* offset, size_t* size) {
  return ParamInfo(k, true, index, offset, size);
}
CUresult FuncName(const char** name, CUfunction f) {
  const auto found = state.kernels.find(f);
  if (found == state.kernels.end() || found->second.is_library_kernel) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  *name = found->second.name.c_str();
  return CUDA_SUCCESS;
}
CUresult PointerAttribute(void* data, CUpointer_attribute, CUdeviceptr address) {
  std::atomic_ref(state.address_questions).fetch_add(1);  // on any thread
  if (!state.device_addresses.contains(address)) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<unsigned*>(data) = CU_MEMORYTYPE_DEVICE;
  return CUDA_SUCCESS;
}
CUresult FuncModule(CUmodule* module, CUfunction f) {
  const auto found = state.modules.find(f);
  if (found == state.modules.end()) return CUDA_ERROR_INVALID_HANDLE;
  *module = static_cast<CUmodule>(found->second);
  return CUDA_SUCCESS;
}
CUptiResult NodeId(CUgraphNode node, uint64_t* id) {
  const auto found = state.node_ids.find(node);
  if (found == state.node_ids.end()) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = found->second;
  return CUPTI_SUCCESS;
}
CUptiResult ExecId(CUgraphExec exec, uint32_t* id) {
  *id = state.exec_ids[exec];
  return CUPTI_SUCCESS;
}

}  // namespace

FakeState& ResetFakeState() {
  state = FakeState();
  return state;
}

Driver FakeDriver() {
  Driver driver;
  driver.FuncGetParamInfo = &FuncParamInfo;
  driver.KernelGetParamInfo = &KernelParamInfo;
  driver.FuncGetName = &FuncName;
  driver.FuncGetModule = &FuncModule;
  driver.PointerGetAttribute = &PointerAttribute;
  return driver;
}

Cupti FakeCupti() {
  Cupti cupti;
  cupti.GetGraphNodeId = &NodeId;
  cupti.GetGraphExecId = &ExecId;
  cupti.version = 130001;
  return cupti;
}

ScratchTrace::ScratchTrace() {
  char name[] = "/tmp/hotproof_tracer_test_XXXXXX";
  if (mkdtemp(name) == nullptr) ADD_FAILURE() << "mkdtemp failed";
  folder_ = name;
  file_ = std::make_unique<TraceFile>(folder_, "trace");
  file_->OpenCounters(1, 1);
  EXPECT_TRUE(file_->ok()) << file_->error();
  std::lock_guard lock(file_->mutex());
  trace::HeaderEntry header;
  header.format_major = trace::kFormatMajor;
  header.format_minor = trace::kFormatMinor;
  header.pid = 1;
  header.process_start_ticks = 1;
  header.counters_file = file_->counters_file_name();
  file_->writer_locked()->AddHeader(header);
}

ScratchTrace::~ScratchTrace() { std::filesystem::remove_all(folder_); }

std::unique_ptr<trace::TraceReader> ScratchTrace::Read() {
  EXPECT_TRUE(file_->Flush());
  file_.reset();
  auto reader = trace::TraceReader::Open(folder_ + "/trace.hpt");
  if (!reader.ok()) {
    ADD_FAILURE() << reader.status();
    return nullptr;
  }
  EXPECT_TRUE((*reader)->issues().empty());
  return std::move(*reader);
}

}  // namespace hotproof::tracer
