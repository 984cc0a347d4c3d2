// Launches that no driver call asks for: device_launch kernels N, device_launch graphs N. Prints what
// the device counted and how much of it the host asked for. Built by hand, relocatable:
//   nvcc -arch=sm_90a -rdc=true -cudart static device_launch.cu -lcudadevrt -o device_launch
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                             \
  do {                                                                          \
    const cudaError_t e = (call);                                               \
    if (e != cudaSuccess) {                                                     \
      fprintf(stderr, "device_launch: %s: %s\n", #call, cudaGetErrorString(e)); \
      exit(70);                                                                 \
    }                                                                           \
  } while (0)

__global__ void child(unsigned long long* p) { atomicAdd(p, 1ull); }

// One launch by the host, one by the device.
__global__ void parent(unsigned long long* p) {
  atomicAdd(p, 1ull);
  child<<<1, 1>>>(p);
}

__global__ void launch_graph(unsigned long long* p, cudaGraphExec_t graph) {
  atomicAdd(p, 1ull);
  cudaGraphLaunch(graph, cudaStreamGraphFireAndForget);
}

static cudaGraphExec_t Captured(cudaStream_t stream, unsigned long long* p, cudaGraphExec_t inner) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  if (inner == nullptr) {
    child<<<1, 1, 0, stream>>>(p);
  } else {
    launch_graph<<<1, 1, 0, stream>>>(p, inner);
  }
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, inner == nullptr ? cudaGraphInstantiateFlagDeviceLaunch : 0));
  if (inner == nullptr) CHECK(cudaGraphUpload(exec, stream));
  return exec;
}

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  const int n = atoi(argv[2]);
  unsigned long long *p, counted = 0;
  cudaStream_t stream;
  CHECK(cudaMalloc(&p, sizeof *p));
  CHECK(cudaMemset(p, 0, sizeof *p));
  CHECK(cudaStreamCreate(&stream));
  if (strcmp(argv[1], "kernels") == 0) {
    for (int i = 0; i < n; ++i) parent<<<1, 1, 0, stream>>>(p);
  } else if (strcmp(argv[1], "graphs") == 0) {
    // A graph launched by the device runs after the launching graph may have ended: one at a time.
    cudaGraphExec_t outer = Captured(stream, p, Captured(stream, p, nullptr));
    for (int i = 0; i < n; ++i) {
      CHECK(cudaGraphLaunch(outer, stream));
      CHECK(cudaStreamSynchronize(stream));
    }
  } else {
    return 64;
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(&counted, p, sizeof counted, cudaMemcpyDeviceToHost));
  printf("{\"scenario\": \"device_%s\", \"asked\": %d, \"counted\": %llu}\n", argv[1], n, counted);
  return 0;
}
