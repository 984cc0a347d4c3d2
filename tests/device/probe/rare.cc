// What serving programs do rarely, and what a tracer gets wrong first: several devices in one call,
// attributes that nodes get later, graphs inside captures, child graphs whose content changes, old launch
// calls, graphs that the device may launch.
#include <vector>

#include "tests/device/probe/scenarios.h"
#include "tests/device/probe/session.h"

namespace probe {
namespace {

void Finish(const char* name, Session& s) {
  printf("{\"scenario\": \"%s\", \"counted\": %llu}\n", name,
         static_cast<unsigned long long>(s.Counted()));
}

// A cooperative launch on every device, three times; each device counts for itself.
void SeveralDevices() {
  Session s;
  int devices = 0;
  CHECK(CU(cuDeviceGetCount)(&devices));
  struct Device {
    CUcontext context;
    CUmodule module;
    CUstream stream;
    CUdeviceptr counter;
    void* arguments[1];
  };
  std::vector<Device> all(static_cast<size_t>(devices));
  std::vector<CUDA_LAUNCH_PARAMS> launches;
  for (int i = 0; i < devices; ++i) {
    Device& device = all[static_cast<size_t>(i)];
    CUdevice handle;
    CHECK(CU(cuDeviceGet)(&handle, i));
    CHECK(CU(cuDevicePrimaryCtxRetain)(&device.context, handle));
    CHECK(CU(cuCtxSetCurrent)(device.context));
    CHECK(CU(cuModuleLoadData)(&device.module, kPtx));
    CHECK(CU(cuStreamCreate)(&device.stream, CU_STREAM_NON_BLOCKING));
    CHECK(CU(cuMemAlloc)(&device.counter, 256));
    CHECK(CU(cuMemsetD8)(device.counter, 0, 256));
    device.arguments[0] = &device.counter;
    CUDA_LAUNCH_PARAMS p = {};
    CHECK(CU(cuModuleGetFunction)(&p.function, device.module, "probe_count"));
    p.gridDimX = p.gridDimY = p.gridDimZ = 1;
    p.blockDimX = 32;
    p.blockDimY = p.blockDimZ = 1;
    p.hStream = device.stream;
    p.kernelParams = device.arguments;
    launches.push_back(p);
  }
  s.Use();
  auto* launch = reinterpret_cast<CUresult (*)(CUDA_LAUNCH_PARAMS*, unsigned, unsigned)>(
      Symbol("cuLaunchCooperativeKernelMultiDevice"));
  for (int round = 0; round < 3; ++round) {
    Note("cuLaunchCooperativeKernelMultiDevice");
    CHECK(launch(launches.data(), static_cast<unsigned>(devices), 0));
  }
  uint64_t counted = 0;
  for (Device& device : all) {
    uint64_t value = 0;
    CHECK(CU(cuCtxSetCurrent)(device.context));
    CHECK(CU(cuCtxSynchronize)());
    CHECK(CU(cuMemcpyDtoH)(&value, device.counter, sizeof value));
    counted += value;
  }
  s.Use();
  printf("{\"scenario\": \"devices\", \"devices\": %d, \"counted\": %llu}\n", devices,
         static_cast<unsigned long long>(counted));
}

// Three nodes: one gets a cluster later, one gets its attributes copied, one may be updated by kernels.
void NodeAttributes() {
  Session s;
  CUgraph graph;
  CUgraphNode nodes[3];
  CHECK(CU(cuGraphCreate)(&graph, 0));
  for (unsigned i = 0; i < 3; ++i) {
    CUDA_KERNEL_NODE_PARAMS params = s.CountNode(2 * (i + 1));
    CHECK(CU(cuGraphAddKernelNode)(&nodes[i], graph, i == 0 ? nullptr : &nodes[i - 1], i == 0 ? 0 : 1,
                                   &params));
  }
  CUkernelNodeAttrValue value = {};
  value.clusterDim = {2, 1, 1};
  Note("cluster 2 for node 0");
  CHECK(CU(cuGraphKernelNodeSetAttribute)(nodes[0], CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value));
  Note("node 0's attributes for node 1");
  CHECK(CU(cuGraphKernelNodeCopyAttributes)(nodes[1], nodes[0]));
  Note("grid 10 for node 0: its cluster stays");
  CUDA_KERNEL_NODE_PARAMS params = s.CountNode(10);
  CHECK(CU(cuGraphKernelNodeSetParams)(nodes[0], &params));
  CUgraphExec exec = s.Instantiate(graph);
  Note("launch");
  s.Launch(exec, s.stream);
  s.Sync();
  Note("grid 12 for node 1 of the exec: its cluster stays");
  params = s.CountNode(12);
  CHECK(CU(cuGraphExecKernelNodeSetParams)(exec, nodes[1], &params));
  s.Launch(exec, s.stream);
  s.Sync();
  Note("node 2 may be updated by kernels");
  value = {};
  value.deviceUpdatableKernelNode.deviceUpdatable = 1;
  const CUresult updatable = CU(cuGraphKernelNodeSetAttribute)(
      nodes[2], CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value);
  fprintf(stderr, "device updatable: CUresult %d\n", static_cast<int>(updatable));
  CUgraphExec second;
  CHECK(CU(cuGraphInstantiate)(&second, graph, 0));
  CHECK(CU(cuGraphUpload)(second, s.stream));
  s.Launch(second, s.stream);
  Finish("attributes", s);
}

// A graph launched into a stream that captures: the driver refuses, and what it refused is no launch.
void GraphInCapture() {
  Session s;
  s.Begin(s.stream);
  s.Count(s.stream, 1);
  s.Count(s.stream, 2);
  CUgraphExec inner = s.Instantiate(s.EndCapture(s.stream));
  s.Begin(s.stream);
  s.Count(s.stream, 3);
  Note("launch a graph into the capture");
  const CUresult result = CU(cuGraphLaunch)(inner, s.stream);
  if (result != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
    fprintf(stderr, "graph into a capture: CUresult %d\n", static_cast<int>(result));
    exit(70);
  }
  CUgraph graph = nullptr;
  CU(cuStreamEndCapture)(s.stream, &graph);
  for (int i = 0; i < 2; ++i) s.Launch(inner, s.stream);
  Finish("graphincapture", s);
}

// A child graph's content is replaced in an exec, by the special and by the generic call.
void ExecChild() {
  Session s;
  CUgraph child, other, parent;
  CUgraphNode node, child_node;
  CHECK(CU(cuGraphCreate)(&child, 0));
  CUDA_KERNEL_NODE_PARAMS params = s.CountNode(1);
  CHECK(CU(cuGraphAddKernelNode)(&node, child, nullptr, 0, &params));
  CHECK(CU(cuGraphCreate)(&other, 0));
  params = s.CountNode(2);
  CHECK(CU(cuGraphAddKernelNode)(&node, other, nullptr, 0, &params));
  CHECK(CU(cuGraphCreate)(&parent, 0));
  CHECK(CU(cuGraphAddChildGraphNode)(&child_node, parent, nullptr, 0, child));
  CUgraphExec exec = s.Instantiate(parent);
  s.Launch(exec, s.stream);
  s.Sync();
  Note("exec child graph node set params: grid 2");
  CHECK(CU(cuGraphExecChildGraphNodeSetParams)(exec, child_node, other));
  s.Launch(exec, s.stream);
  s.Sync();
  Note("exec node set params (generic) with the first child again");
  CUgraphNodeParams any = {};
  any.type = CU_GRAPH_NODE_TYPE_GRAPH;
  any.graph.graph = child;
  const CUresult result = CU(cuGraphExecNodeSetParams)(exec, child_node, &any);
  fprintf(stderr, "generic: CUresult %d\n", static_cast<int>(result));
  s.Launch(exec, s.stream);
  Finish("execchild", s);
}

// Block and shared memory set before the launch, in two ways for one function.
void Legacy() {
  Session s;
  CUfunction function = s.Kernel("probe_empty");
  auto* shape = reinterpret_cast<CUresult (*)(CUfunction, int, int, int)>(Symbol("cuFuncSetBlockShape"));
  auto* launch = reinterpret_cast<CUresult (*)(CUfunction)>(Symbol("cuLaunch"));
  auto* launch_grid = reinterpret_cast<CUresult (*)(CUfunction, int, int)>(Symbol("cuLaunchGrid"));
  CHECK(shape(function, 32, 2, 1));
  CHECK(launch(function));
  CHECK(launch_grid(function, 3, 1));
  CHECK(shape(function, 64, 1, 1));
  CHECK(launch(function));
  Finish("legacy", s);
}

// Kernels may launch this graph: CUPTI would not say so. Here none does.
void DeviceLaunchable() {
  Session s;
  s.Begin(s.stream);
  s.Count(s.stream, 1);
  CUgraph graph = s.EndCapture(s.stream);
  CUgraphExec exec;
  CHECK(CU(cuGraphInstantiate)(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
  CHECK(CU(cuGraphUpload)(exec, s.stream));
  s.Launch(exec, s.stream);
  Finish("devicelaunchable", s);
}

}  // namespace

const Scenario kRareScenarios[] = {{"devices", SeveralDevices},
                                   {"attributes", NodeAttributes},
                                   {"graphincapture", GraphInCapture},
                                   {"execchild", ExecChild},
                                   {"legacy", Legacy},
                                   {"devicelaunchable", DeviceLaunchable},
                                   {nullptr, nullptr}};

}  // namespace probe
