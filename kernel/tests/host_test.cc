// What the library does on the host, on a CUDA runtime that is made up here: which GPUs it refuses,
// and that it then launches nothing.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "kernel/fp8_gemm.h"
#include "kernel/launch.h"
#include "kernel/stage_walk.h"

namespace {

int major_version = 9, minor_version = 0;
int sm_count = 132;
int launches = 0;

CUresult EncodeTiled(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                     const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                     CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t) {
  ++launches;
  return cudaSuccess;
}
unsigned __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*) { return 0; }

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = major_version;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = minor_version;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = sm_count;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = 228 << 10;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = 227 << 10;
      break;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      *value = 1 << 10;
      break;
    default:
      return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** address, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  *address = reinterpret_cast<void*>(&EncodeTiled);
  *found = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**) {
  ++launches;
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t) { return cudaSuccess; }

}  // extern "C"

namespace {

// Nothing looks behind these pointers.
void* Somewhere(uintptr_t place) { return reinterpret_cast<void*>(place << 20); }

// Row-major A and scales, weights of the attention output.
hotproof_fp8_gemm_args Arguments() {
  hotproof_fp8_gemm_args args = {};
  args.m = 8;
  args.n = 5120;
  args.k = 6144;
  args.a = Somewhere(1);
  args.lda = args.k;
  args.a_scale = static_cast<float*>(Somewhere(2));
  args.a_scale_stride_m = args.k / 128;
  args.a_scale_stride_k = 1;
  args.b = Somewhere(3);
  args.ldb = args.k;
  args.b_scale = static_cast<float*>(Somewhere(40));
  args.b_scale_stride_n = args.k / 128;
  args.b_scale_stride_k = 1;
  args.d = Somewhere(41);
  args.ldd = args.n;
  args.workspace = Somewhere(42);
  args.workspace_bytes = 24 << 20;
  return args;
}

// One call of each entry point that launches.
void ExpectFromEach(hotproof_status want, int want_launches) {
  launches = 0;
  const hotproof_fp8_gemm_args args = Arguments();
  EXPECT_EQ(hotproof_fp8_gemm(&args, nullptr), want);
  EXPECT_EQ(hotproof_fp8_gemm_bf16(&args, nullptr), want);
  EXPECT_EQ(hotproof_quantize_1x128(8, 6144, args.a, 6144, Somewhere(5), 6144,
                                    static_cast<float*>(Somewhere(6)), 48, 1, 0, nullptr),
            want);
  EXPECT_EQ(launches, want_launches);
}

TEST(Host, LaunchesOneKernelACallOnHopper) {
  major_version = 9, minor_version = 0;
  ExpectFromEach(HOTPROOF_OK, 3);
}

TEST(Host, RefusesEveryOtherGpuAndLaunchesNothing) {
  for (const auto& [major, minor] : {std::pair{7, 5}, {8, 0}, {8, 9}, {9, 1}, {10, 0}, {12, 0}}) {
    SCOPED_TRACE(testing::Message() << "compute capability " << major << "." << minor);
    major_version = major, minor_version = minor;
    ExpectFromEach(HOTPROOF_UNSUPPORTED_DEVICE, 0);
    size_t bytes = 12345;
    EXPECT_EQ(hotproof_fp8_gemm_workspace(8, 5120, 17408, &bytes, nullptr),
              HOTPROOF_UNSUPPORTED_DEVICE);
    EXPECT_EQ(bytes, 12345u);
  }
}

TEST(Host, TakesTheWorkspaceItAskedForAndNoLess) {
  major_version = 9, minor_version = 0;
  for (const int m : {8, 32, 64, 128}) {
    hotproof_fp8_gemm_args args = Arguments();
    args.m = m;
    args.n = 5120;
    args.k = 17408;
    args.lda = args.ldb = args.k;
    args.a_scale_stride_m = args.b_scale_stride_n = args.k / 128;
    size_t bytes = 0, control_bytes = 0;
    ASSERT_EQ(hotproof_fp8_gemm_workspace(m, args.n, args.k, &bytes, &control_bytes), HOTPROOF_OK);
    EXPECT_EQ(control_bytes, hotproof::kernel::kControlBytes);
    ASSERT_GE(bytes, control_bytes);
    launches = 0;
    args.workspace_bytes = bytes;
    EXPECT_EQ(hotproof_fp8_gemm(&args, nullptr), HOTPROOF_OK) << m;
    EXPECT_EQ(launches, 1);
    args.workspace_bytes = control_bytes - 1;
    EXPECT_EQ(hotproof_fp8_gemm(&args, nullptr), HOTPROOF_WORKSPACE_TOO_SMALL) << m;
    args.workspace = nullptr;
    EXPECT_EQ(hotproof_fp8_gemm(&args, nullptr), HOTPROOF_WORKSPACE_TOO_SMALL) << m;
    EXPECT_EQ(launches, 1);
  }
}

TEST(Host, PlansFitEveryHopperGpu) {
  major_version = 9, minor_version = 0;
  using namespace hotproof::kernel;
  const int shapes[][2] = {{34816, 5120}, {5120, 17408}, {5120, 6144}, {16384, 5120},
                           {14336, 5120}, {8, 16},       {1000, 1040}, {131072, 8192}};
  for (const int count : {78, 114, 132, 144}) {
    sm_count = count;
    for (const auto& shape : shapes) {
      for (int m = 1; m <= 128; ++m) {
        for (const bool quantise : {false, true}) {
          SCOPED_TRACE(testing::Message() << "M " << m << " N " << shape[0] << " K " << shape[1]
                                          << " on " << count << (quantise ? ", bf16 A" : ""));
          Plan plan;
          const hotproof_status status = make_plan(m, shape[0], shape[1], quantise, {}, &plan);
          if (quantise && m > 32) {
            EXPECT_EQ(status, HOTPROOF_UNSUPPORTED_SHAPE);
            continue;
          }
          ASSERT_EQ(status, HOTPROOF_OK);
          EXPECT_LE(plan.smem_bytes, 227 << 10);
          EXPECT_GE(plan.ring.stages, kFewestWeightStages);
          EXPECT_GE(plan.ring.window, kFewestWeightStages);
          EXPECT_LE(plan.ring.window, plan.ring.stages);
          EXPECT_LE(plan.work.ctas(), count);
          EXPECT_FALSE(plan.ring.tokens_stay && !quantise);
        }
      }
    }
  }
  sm_count = 132;
  Plan plan;
  ASSERT_EQ(make_plan(8, 34816, 5120, true, {}, &plan), HOTPROOF_OK);
  EXPECT_TRUE(plan.ring.tokens_stay);
  EXPECT_EQ(plan.ring.token_stages * plan.ring.stage_blocks, 40);
}

}  // namespace
