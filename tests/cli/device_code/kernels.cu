// Made into the fixtures beside this file by make_fixtures.sh.
__global__ void hotproof_fixture_scale(float* x, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= a;
}
