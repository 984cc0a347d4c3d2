// The runtime API, linked statically: a launch, a cudaLaunchKernelExC launch, a capture and replays.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void runtime_count(unsigned long long* p) {
  if (threadIdx.x == 0 && blockIdx.x == 0) atomicAdd(p, 1ull);
}

#define CHECK(call)                                          \
  do {                                                       \
    cudaError_t e = (call);                                  \
    if (e != cudaSuccess) {                                  \
      fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); \
      return 70;                                             \
    }                                                        \
  } while (0)

int main() {
  unsigned long long* p;
  CHECK(cudaMalloc(&p, 8));
  CHECK(cudaMemset(p, 0, 8));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  runtime_count<<<1, 32, 0, stream>>>(p);
  CHECK(cudaGetLastError());
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(2);
  config.blockDim = dim3(32);
  config.stream = stream;
  CHECK(cudaLaunchKernelEx(&config, runtime_count, p));
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  runtime_count<<<3, 32, 0, stream>>>(p);
  runtime_count<<<4, 32, 0, stream>>>(p);
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, stream));
  unsigned long long counted = 0;
  CHECK(cudaMemcpy(&counted, p, 8, cudaMemcpyDeviceToHost));
  printf("{\"scenario\": \"runtime\", \"counted\": %llu}\n", counted);
  return 0;
}
