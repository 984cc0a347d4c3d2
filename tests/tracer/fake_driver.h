// Tables of driver and CUPTI functions over plain maps, for tests of the tracer's parts. One test at a
// time: the state is global, as the real functions' is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cupti_tracer/core/cupti_api.h"
#include "cupti_tracer/core/trace_file.h"
#include "trace/reader.h"

namespace hotproof::tracer {

struct FakeKernel {
  std::string name;
  std::vector<size_t> offsets, sizes;
  bool is_library_kernel = false;  // its handle is a CUkernel
};

struct FakeState {
  std::map<void*, FakeKernel> kernels;
  std::map<void*, void*> modules;  // by function
  std::set<uint64_t> device_addresses;
  uint64_t address_questions = 0;
  std::map<CUgraphNode, uint64_t> node_ids;
  std::map<CUgraphExec, uint32_t> exec_ids;
};

FakeState& ResetFakeState();
Driver FakeDriver();
Cupti FakeCupti();

template <typename T>
T Handle(uintptr_t value) {
  return reinterpret_cast<T>(value);
}

// A trace file in a folder of its own, to be written by the part under test and then read back.
class ScratchTrace {
 public:
  ScratchTrace();
  ~ScratchTrace();
  TraceFile& file() { return *file_; }
  // Flushes, closes and reads what was written.
  std::unique_ptr<trace::TraceReader> Read();

 private:
  std::string folder_;
  std::unique_ptr<TraceFile> file_;
};

}  // namespace hotproof::tracer
