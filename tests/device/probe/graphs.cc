// Graphs: captured, by hand, child, cloned, updated, switched off, uploaded, conditional.
#include <thread>
#include <vector>

#include "tests/device/probe/scenarios.h"
#include "tests/device/probe/session.h"

namespace probe {
namespace {

void Finish(const char* name, Session& s) {
  printf("{\"scenario\": \"%s\", \"counted\": %llu}\n", name,
         static_cast<unsigned long long>(s.Counted()));
}

void Capture() {
  Session s;
  Note("capture: probe_count grid 1, probe_empty grid 2, probe_count grid 3");
  s.Begin(s.stream);
  s.Count(s.stream, 1);
  s.Empty(s.stream, 2);
  s.Count(s.stream, 3);
  CUgraph graph = s.EndCapture(s.stream);
  Note("instantiate");
  CUgraphExec exec = s.Instantiate(graph);
  Note("destroy the graph, the exec lives on");
  CHECK(CU(cuGraphDestroy)(graph));
  Note("upload");
  CHECK(CU(cuGraphUpload)(exec, s.stream));
  for (int i = 0; i < 3; ++i) {
    Note("launch");
    s.Launch(exec, s.stream);
  }
  Note("launch into the null stream, from another thread");
  std::thread([&] {
    s.Use();
    s.Launch(exec, nullptr);
  }).join();
  s.Sync();
  Note("launch by cuGraphLaunch_ptsz");
  CHECK(reinterpret_cast<decltype(&cuGraphLaunch)>(Symbol("cuGraphLaunch_ptsz"))(exec, nullptr));
  s.Sync();
  Note("destroy the exec");
  CHECK(CU(cuGraphExecDestroy)(exec));
  Note("a second capture: are ids used again?");
  s.Begin(s.stream);
  s.Count(s.stream, 4);
  CUgraph second = s.EndCapture(s.stream);
  Note("two execs of one graph");
  CUgraphExec first_exec = s.Instantiate(second);
  CUgraphExec second_exec = s.Instantiate(second);
  s.Launch(first_exec, s.stream);
  s.Launch(second_exec, s.stream);
  Note("instantiate with params, upload flag");
  CUDA_GRAPH_INSTANTIATE_PARAMS params = {};
  params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
  params.hUploadStream = s.stream;
  CUgraphExec third_exec;
  CHECK(CU(cuGraphInstantiateWithParams)(&third_exec, second, &params));
  s.Launch(third_exec, s.stream);
  Finish("capture", s);
}

void ByHand() {
  Session s;
  Note("graph by hand");
  CUgraph graph;
  CHECK(CU(cuGraphCreate)(&graph, 0));
  CUgraphNode first, second, third, empty;
  CUDA_KERNEL_NODE_PARAMS params = s.CountNode(1);
  Note("cuGraphAddKernelNode_v2");
  CHECK(CU(cuGraphAddKernelNode)(&first, graph, nullptr, 0, &params));
  params = s.CountNode(2);
  CHECK(CU(cuGraphAddKernelNode)(&second, graph, &first, 1, &params));
  Note("cuGraphAddNode_v2");
  CUgraphNodeParams any = {};
  any.type = CU_GRAPH_NODE_TYPE_KERNEL;
  any.kernel.func = s.Kernel("probe_count");
  any.kernel.gridDimX = 3;
  any.kernel.gridDimY = any.kernel.gridDimZ = 1;
  any.kernel.blockDimX = 32;
  any.kernel.blockDimY = any.kernel.blockDimZ = 1;
  void* arguments[] = {&s.counter};
  any.kernel.kernelParams = arguments;
  CHECK(CU(cuGraphAddNode)(&third, graph, &second, nullptr, 1, &any));
  Note("empty node");
  CHECK(CU(cuGraphAddEmptyNode)(&empty, graph, &third, 1));
  Note("host node");
  CUgraphNode host;
  CUDA_HOST_NODE_PARAMS host_params = {[](void*) {}, nullptr};
  CHECK(CU(cuGraphAddHostNode)(&host, graph, &empty, 1, &host_params));
  Note("graph node set params before instantiation: grid 5");
  params = s.CountNode(5);
  CHECK(CU(cuGraphKernelNodeSetParams)(first, &params));
  Note("destroy a node");
  CHECK(CU(cuGraphDestroyNode)(host));
  Note("instantiate");
  CUgraphExec exec = s.Instantiate(graph);
  Note("launch");
  s.Launch(exec, s.stream);
  Finish("byhand", s);
}

void ChildAndClone() {
  Session s;
  CUgraph child, parent, clone;
  CUgraphNode node, first_child, second_child;
  CHECK(CU(cuGraphCreate)(&child, 0));
  CUDA_KERNEL_NODE_PARAMS params = s.CountNode(1);
  CHECK(CU(cuGraphAddKernelNode)(&node, child, nullptr, 0, &params));
  Note("parent with the child twice");
  CHECK(CU(cuGraphCreate)(&parent, 0));
  CHECK(CU(cuGraphAddChildGraphNode)(&first_child, parent, nullptr, 0, child));
  params = s.CountNode(2);
  CHECK(CU(cuGraphAddKernelNode)(&node, parent, &first_child, 1, &params));
  CHECK(CU(cuGraphAddChildGraphNode)(&second_child, parent, &node, 1, child));
  Note("clone the parent");
  CHECK(CU(cuGraphClone)(&clone, parent));
  Note("instantiate the parent");
  CUgraphExec exec = s.Instantiate(parent);
  Note("instantiate the clone");
  CUgraphExec clone_exec = s.Instantiate(clone);
  Note("launch the parent");
  s.Launch(exec, s.stream);
  Note("launch the clone");
  s.Launch(clone_exec, s.stream);
  s.Sync();
  Note("child graph launched inside a capture");
  s.Begin(s.stream);
  s.Count(s.stream, 4);
  CUgraphExec child_exec;
  CUstreamCaptureStatus status;
  CHECK(CU(cuStreamIsCapturing)(s.stream, &status));
  CUgraph captured = s.EndCapture(s.stream);
  child_exec = s.Instantiate(captured);
  s.Launch(child_exec, s.stream);
  Note("destroy: exec, clone, parent");
  s.Sync();
  CHECK(CU(cuGraphExecDestroy)(exec));
  CHECK(CU(cuGraphDestroy)(clone));
  CHECK(CU(cuGraphDestroy)(parent));
  Finish("child", s);
}

void Update() {
  Session s;
  CUgraph graph;
  CUgraphNode nodes[2];
  CHECK(CU(cuGraphCreate)(&graph, 0));
  CUDA_KERNEL_NODE_PARAMS params = s.CountNode(1);
  CHECK(CU(cuGraphAddKernelNode)(&nodes[0], graph, nullptr, 0, &params));
  params = s.CountNode(2);
  CHECK(CU(cuGraphAddKernelNode)(&nodes[1], graph, &nodes[0], 1, &params));
  CUgraphExec exec = s.Instantiate(graph);
  Note("launch");
  s.Launch(exec, s.stream);
  s.Sync();
  Note("exec kernel node set params: node 0 grid 7");
  params = s.CountNode(7);
  CHECK(CU(cuGraphExecKernelNodeSetParams)(exec, nodes[0], &params));
  Note("launch");
  s.Launch(exec, s.stream);
  s.Sync();
  Note("exec kernel node set params: node 0 becomes probe_empty grid 8");
  params.func = s.Kernel("probe_empty");
  params.gridDimX = 8;
  params.kernelParams = nullptr;
  CHECK(CU(cuGraphExecKernelNodeSetParams)(exec, nodes[0], &params));
  Note("launch");
  s.Launch(exec, s.stream);
  s.Sync();
  Note("set enabled: node 1 off");
  CHECK(CU(cuGraphNodeSetEnabled)(exec, nodes[1], 0));
  Note("launch");
  s.Launch(exec, s.stream);
  s.Sync();
  Note("set enabled: node 1 on");
  CHECK(CU(cuGraphNodeSetEnabled)(exec, nodes[1], 1));
  Note("launch");
  s.Launch(exec, s.stream);
  s.Sync();
  Note("another graph, same shape, grids 10 and 11");
  CUgraph other;
  CUgraphNode others[2];
  CHECK(CU(cuGraphCreate)(&other, 0));
  params = s.CountNode(10);
  CHECK(CU(cuGraphAddKernelNode)(&others[0], other, nullptr, 0, &params));
  params = s.CountNode(11);
  CHECK(CU(cuGraphAddKernelNode)(&others[1], other, &others[0], 1, &params));
  Note("exec update");
  CUgraphExecUpdateResultInfo info = {};
  CHECK(CU(cuGraphExecUpdate)(exec, other, &info));
  Note("launch");
  s.Launch(exec, s.stream);
  s.Sync();
  Note("exec node set params (generic): node 0 grid 12");
  CUgraphNodeParams any = {};
  any.type = CU_GRAPH_NODE_TYPE_KERNEL;
  any.kernel.func = s.Kernel("probe_count");
  any.kernel.gridDimX = 12;
  any.kernel.gridDimY = any.kernel.gridDimZ = 1;
  any.kernel.blockDimX = 32;
  any.kernel.blockDimY = any.kernel.blockDimZ = 1;
  void* arguments[] = {&s.counter};
  any.kernel.kernelParams = arguments;
  CHECK(CU(cuGraphExecNodeSetParams)(exec, nodes[0], &any));
  Note("launch");
  s.Launch(exec, s.stream);
  s.Sync();
  Note("an update that fails: another shape");
  CUgraph longer;
  CHECK(CU(cuGraphClone)(&longer, other));
  CUgraphNode extra;
  params = s.CountNode(13);
  CHECK(CU(cuGraphAddKernelNode)(&extra, longer, nullptr, 0, &params));
  fprintf(stderr, "failing update: CUresult %d\n",
          static_cast<int>(CU(cuGraphExecUpdate)(exec, longer, &info)));
  Note("launch");
  s.Launch(exec, s.stream);
  Finish("update", s);
}

void MemoryNodes() {
  Session s;
  CUgraph graph;
  CHECK(CU(cuGraphCreate)(&graph, 0));
  CUgraphNode nodes[5];
  CUDA_KERNEL_NODE_PARAMS kernel = s.CountNode(1);
  CHECK(CU(cuGraphAddKernelNode)(&nodes[0], graph, nullptr, 0, &kernel));
  CUDA_MEMSET_NODE_PARAMS set = {};
  CUdeviceptr memory;
  CHECK(CU(cuMemAlloc)(&memory, 1 << 20));
  set.dst = memory;
  set.elementSize = 4;
  set.width = 1024;
  set.height = 1;
  set.value = 3;
  Note("memset node, 4 KiB, 1-D");
  CHECK(CU(cuGraphAddMemsetNode)(&nodes[1], graph, &nodes[0], 1, &set, s.context));
  set.pitch = 4096;
  set.height = 16;
  set.width = 512;
  Note("memset node, 2-D");
  CHECK(CU(cuGraphAddMemsetNode)(&nodes[2], graph, &nodes[1], 1, &set, s.context));
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = memory;
  copy.dstDevice = memory + (1 << 19);
  copy.WidthInBytes = 4096;
  copy.Height = copy.Depth = 1;
  Note("memcpy node, device to device, 4 KiB");
  CHECK(CU(cuGraphAddMemcpyNode)(&nodes[3], graph, &nodes[2], 1, &copy, s.context));
  kernel = s.CountNode(2);
  CHECK(CU(cuGraphAddKernelNode)(&nodes[4], graph, &nodes[3], 1, &kernel));
  CUgraphExec exec = s.Instantiate(graph);
  for (int i = 0; i < 2; ++i) {
    Note("launch");
    s.Launch(exec, s.stream);
  }
  Note("captured memset and memcpy");
  s.Begin(s.stream);
  CHECK(CU(cuMemsetD8Async)(memory, 1, 100, s.stream));
  CHECK(CU(cuMemsetD32Async)(memory, 1, 1 << 16, s.stream));
  CHECK(CU(cuMemcpyDtoDAsync)(memory + (1 << 19), memory, 1 << 16, s.stream));
  s.Count(s.stream, 3);
  CUgraphExec captured = s.Instantiate(s.EndCapture(s.stream));
  s.Launch(captured, s.stream);
  Finish("memory", s);
}

void ForkJoin() {
  Session s;
  CUstream side[2];
  CUevent fork, join[2];
  CHECK(CU(cuEventCreate)(&fork, CU_EVENT_DISABLE_TIMING));
  for (int i = 0; i < 2; ++i) {
    CHECK(CU(cuStreamCreate)(&side[i], CU_STREAM_NON_BLOCKING));
    CHECK(CU(cuEventCreate)(&join[i], CU_EVENT_DISABLE_TIMING));
  }
  Note("capture over three streams");
  s.Begin(s.stream);
  s.Count(s.stream, 1);
  CHECK(CU(cuEventRecord)(fork, s.stream));
  for (int i = 0; i < 2; ++i) {
    CHECK(CU(cuStreamWaitEvent)(side[i], fork, 0));
    s.Count(side[i], 2 + i);
    s.Count(side[i], 4 + i);
    CHECK(CU(cuEventRecord)(join[i], side[i]));
    CHECK(CU(cuStreamWaitEvent)(s.stream, join[i], 0));
  }
  s.Count(s.stream, 6);
  CUgraph graph = s.EndCapture(s.stream);
  CUgraphExec exec = s.Instantiate(graph);
  for (int i = 0; i < 3; ++i) {
    Note("launch");
    s.Launch(exec, s.stream);
  }
  Finish("forkjoin", s);
}

void SeveralGraphs() {
  Session s;
  std::vector<CUgraphExec> execs;
  for (unsigned g = 0; g < 3; ++g) {
    s.Begin(s.stream);
    for (unsigned k = 0; k <= g; ++k) s.Count(s.stream, 10 * g + k + 1);
    execs.push_back(s.Instantiate(s.EndCapture(s.stream)));
  }
  for (int i = 0; i < 10; ++i) {
    for (CUgraphExec exec : execs) s.Launch(exec, s.stream);
    s.Count(s.stream, 100);
  }
  Finish("graphs", s);
}

void CaptureFromThreads() {
  Session s;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&s, t] {
      s.Use();
      CUstream stream;
      CHECK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
      s.Begin(stream);
      for (unsigned k = 0; k < 3; ++k) s.Count(stream, 10 * t + k + 1);
      CUgraphExec exec = s.Instantiate(s.EndCapture(stream));
      for (int i = 0; i < 5; ++i) s.Launch(exec, stream);
      CHECK(CU(cuStreamSynchronize)(stream));
    });
  for (std::thread& thread : threads) thread.join();
  Finish("graphthreads", s);
}

void EagerDuringCapture() {
  Session s;
  CUstream other;
  CHECK(CU(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING));
  s.Begin(s.stream);
  s.Count(s.stream, 1);
  Note("eager launch into another stream while this thread captures");
  s.Count(other, 2);
  Note("capture given up: two captured, none kept");
  CUgraph graph = s.EndCapture(s.stream);
  CHECK(CU(cuGraphDestroy)(graph));
  Note("capture into an existing graph");
  CHECK(CU(cuGraphCreate)(&graph, 0));
  CHECK(CU(cuStreamBeginCaptureToGraph)(s.stream, graph, nullptr, nullptr, 0,
                                        CU_STREAM_CAPTURE_MODE_RELAXED));
  s.Count(s.stream, 3);
  graph = s.EndCapture(s.stream);
  CUgraphExec exec = s.Instantiate(graph);
  s.Launch(exec, s.stream);
  Finish("capture2", s);
}

void Conditional() {
  Session s;
  CUgraph graph;
  CHECK(CU(cuGraphCreate)(&graph, 0));
  CUgraphConditionalHandle handle;
  CHECK(CU(cuGraphConditionalHandleCreate)(&handle, graph, s.context, 1,
                                           CU_GRAPH_COND_ASSIGN_DEFAULT));
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = handle;
  params.conditional.type = CU_GRAPH_COND_TYPE_IF;
  params.conditional.size = 1;
  params.conditional.ctx = s.context;
  CUgraphNode node, inner;
  Note("conditional IF node");
  CHECK(CU(cuGraphAddNode)(&node, graph, nullptr, nullptr, 0, &params));
  CUgraph body = params.conditional.phGraph_out[0];
  CUDA_KERNEL_NODE_PARAMS kernel = s.CountNode(2);
  Note("kernel in its body");
  CHECK(CU(cuGraphAddKernelNode)(&inner, body, nullptr, 0, &kernel));
  Note("instantiate");
  CUgraphExec exec = s.Instantiate(graph);
  for (int i = 0; i < 3; ++i) {
    Note("launch");
    s.Launch(exec, s.stream);
  }
  Finish("conditional", s);
}

}  // namespace

const Scenario kGraphScenarios[] = {{"capture", Capture},
                                    {"byhand", ByHand},
                                    {"child", ChildAndClone},
                                    {"update", Update},
                                    {"memory", MemoryNodes},
                                    {"forkjoin", ForkJoin},
                                    {"graphs", SeveralGraphs},
                                    {"graphthreads", CaptureFromThreads},
                                    {"capture2", EagerDuringCapture},
                                    {"conditional", Conditional},
                                    {nullptr, nullptr}};

}  // namespace probe
