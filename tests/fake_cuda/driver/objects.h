// The stand-in driver's objects: what the opaque handles of cuda.h point to. Who creates an object
// owns it as in CUDA. Ids are those that the H200's transcripts show for the same calls.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace fake_cuda {

// A kernel's parameter as the image declares it; offsets as cuFuncGetParamInfo gives them.
struct Parameter {
  size_t offset, size;
};

struct KernelInfo {
  const char* name;  // never freed: records point to it
  std::vector<Parameter> parameters;
  size_t parameter_bytes = 0;
};

struct Image {  // parsed PTX; stands for the cubin too
  std::string bytes;
  std::vector<std::shared_ptr<KernelInfo>> kernels;
};

// A CUkernel and a CUfunction may be passed for each other in launch calls: both begin with this.
enum class HandleKind : uint32_t { kFunction = 0xfa4e0001, kKernel = 0xfa4e0002 };

}  // namespace fake_cuda

struct CUfunc_st {
  fake_cuda::HandleKind kind = fake_cuda::HandleKind::kFunction;
  CUmodule module = nullptr;
  std::shared_ptr<fake_cuda::KernelInfo> info;
  unsigned block[3] = {1, 1, 1};  // cuFuncSetBlockShape
};

struct CUkern_st {
  fake_cuda::HandleKind kind = fake_cuda::HandleKind::kKernel;
  CUlibrary library = nullptr;
  std::shared_ptr<fake_cuda::KernelInfo> info;
};

struct CUmod_st {
  CUcontext context = nullptr;
  uint32_t id = 0;
  std::shared_ptr<fake_cuda::Image> image;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};

struct CUlib_st {
  std::shared_ptr<fake_cuda::Image> image;
  std::vector<std::unique_ptr<CUkern_st>> kernels;
  std::mutex mutex;
  std::map<CUcontext, CUmodule> modules;  // loaded at the first launch in a context
};

struct CUstream_st {
  CUcontext context = nullptr;
  uint32_t id = 0;
  uint32_t channel = 0;
  std::atomic<uint64_t> busy_until_ns{0};
  // Capture in progress, and the nodes that the next captured node depends on.
  CUgraph capture = nullptr;
  CUstream capture_origin = nullptr;
  std::vector<CUgraphNode> capture_tail;
};

struct CUevent_st {
  CUgraph capture = nullptr;
  CUstream capture_origin = nullptr;
  std::vector<CUgraphNode> capture_tail;
  uint64_t done_ns = 0;
  uint32_t id = 0;
  uint32_t context_id = 0;
  std::atomic<uint64_t> sync_id{0};  // of its last record, unique in the process
};

struct CUctx_st {
  uint32_t id = 0;
  CUdevice device = 0;
  bool primary = false;
  int retained = 0;
  uint32_t next_module_id = 23;
  CUstream_st null_stream;
  CUstream_st per_thread_stream;  // one for all threads here; id 0 until first used
  std::vector<CUmodule> modules;
  std::vector<CUstream> streams;
};

struct CUgraphNode_st {
  CUgraph graph = nullptr;
  uint32_t index = 0;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  bool enabled = true;
  bool conditional_body = false;
  bool programmatic = false;  // captured with programmatic stream serialization
  std::vector<CUgraphNode> dependencies;
  CUgraphNode original = nullptr;  // of a node cloned into an exec: the source graph's node
  // Kernel nodes: the launch with its arguments' bytes.
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  std::vector<uint8_t> arguments;
  uint32_t cluster[3] = {0, 0, 0};
  bool cooperative = false, device_updatable = false;
  void* given_parameters[16] = {};  // what cuGraphKernelNodeGetParams hands out: into `arguments`
  CUDA_MEMSET_NODE_PARAMS memset = {};
  CUDA_MEMCPY3D memcpy = {};
  CUDA_HOST_NODE_PARAMS host = {};
  CUgraph child = nullptr;  // child graph node; conditional node: its body
  unsigned conditional_value = 0;
};

struct CUgraph_st {
  uint32_t id = 0;
  uint32_t next_index = 0;
  std::vector<CUgraphNode> nodes;  // in creation order
  CUgraph* body_out = nullptr;     // of a graph with conditional nodes: the array handed out
  // As CUgraphExec: the handle is the clone's.
  bool is_exec = false;
  CUgraph source = nullptr;
  uint32_t source_id = 0;
  CUgraph hidden = nullptr;
  CUcontext context = nullptr;
  CUgraphNode root = nullptr;
  std::map<CUgraphNode, uint32_t>
      branch;  // which branch a node runs in; branch 0 is the launch stream
  std::vector<uint32_t> branch_stream_ids;
  uint32_t body_stream_id = 0;
};
