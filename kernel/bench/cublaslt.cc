#include "kernel/bench/cublaslt.h"

#include <cublasLt.h>
#include <dlfcn.h>
#include <glob.h>

#include <map>
#include <tuple>

#include "kernel/bench/gpu.h"

namespace hotproof::kernel::bench {
namespace {

constexpr size_t kWorkspaceBytes = 32 << 20;

// The few entry points that are used.
struct Api {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtGetVersion) get_version;
  decltype(&cublasLtMatmulDescCreate) desc_create;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set;
  decltype(&cublasLtMatrixLayoutCreate) layout_create;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmul) matmul;
};

template <typename F>
bool resolve(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

std::vector<std::string> candidates(const std::string& path) {
  if (!path.empty()) return {path};
  std::vector<std::string> names = {"libcublasLt.so.13"};
  for (const char* pattern :
       {"/opt/torch/.venv/lib/python3*/site-packages/nvidia/cu13/lib/libcublasLt.so.13",
        "/usr/local/cuda*/lib64/libcublasLt.so.13",
        "/usr/lib/python3*/site-packages/nvidia/cu13/lib/libcublasLt.so.13"}) {
    glob_t found = {};
    if (glob(pattern, 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) names.push_back(found.gl_pathv[i]);
    }
    globfree(&found);
  }
  return names;
}

// Column-major in cuBLAS's words: D^T[N,M] = B[N,K] x A^T, with its A our weights and its B our
// tokens.
class CublasLtLibrary : public CublasLt {
 public:
  CublasLtLibrary(const Api& api, cublasLtHandle_t handle)
      : api_(api), handle_(handle), workspace_(kWorkspaceBytes) {}

  size_t version() const override { return api_.get_version(); }

  int prepare(int m, int n, int k) override {
    Problem& problem = problems_[{m, n, k}];
    if (problem.ready) return problem.found;
    problem.ready = true;
    const auto ok = [](cublasStatus_t status) { return status == CUBLAS_STATUS_SUCCESS; };
    const cublasOperation_t transpose = CUBLAS_OP_T;
    const int32_t weights_mode = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
    const int32_t tokens_mode = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    cublasLtMatmulPreference_t preference = nullptr;
    bool good = ok(api_.desc_create(&problem.desc, CUBLAS_COMPUTE_32F, CUDA_R_32F)) &&
                set(problem.desc, CUBLASLT_MATMUL_DESC_TRANSA, transpose) &&
                set(problem.desc, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, weights_mode) &&
                set(problem.desc, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, tokens_mode) &&
                ok(api_.layout_create(&problem.weights, CUDA_R_8F_E4M3, k, n, k)) &&
                ok(api_.layout_create(&problem.tokens, CUDA_R_8F_E4M3, k, m, k)) &&
                ok(api_.layout_create(&problem.out, CUDA_R_16BF, n, m, n)) &&
                ok(api_.preference_create(&preference)) &&
                ok(api_.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                       &kWorkspaceBytes, sizeof(kWorkspaceBytes)));
    // The heuristic looks at the scale pointers' presence only.
    const void* some = workspace_.get();
    good = good && set(problem.desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, some) &&
           set(problem.desc, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, some);
    if (good &&
        !ok(api_.heuristic(handle_, problem.desc, problem.weights, problem.tokens, problem.out,
                           problem.out, preference, 8, problem.algorithms, &problem.found))) {
      problem.found = 0;
    }
    return problem.found;
  }

  bool enqueue(const CublasLtArgs& args, int index, cudaStream_t stream) override {
    Problem& problem = problems_[{args.m, args.n, args.k}];
    if (index >= problem.found) return false;
    set(problem.desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, args.b_scale);
    set(problem.desc, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, args.a_scale);
    const float alpha = 1, beta = 0;
    return api_.matmul(handle_, problem.desc, &alpha, args.b, problem.weights, args.a,
                       problem.tokens, &beta, args.d, problem.out, args.d, problem.out,
                       &problem.algorithms[index].algo, workspace_.get(), kWorkspaceBytes,
                       stream) == CUBLAS_STATUS_SUCCESS;
  }

 private:
  struct Problem {
    bool ready = false;
    int found = 0;
    cublasLtMatmulDesc_t desc = nullptr;
    cublasLtMatrixLayout_t weights = nullptr, tokens = nullptr, out = nullptr;
    cublasLtMatmulHeuristicResult_t algorithms[8] = {};
  };
  template <typename T>
  bool set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute, const T& value) {
    return api_.desc_set(desc, attribute, &value, sizeof(value)) == CUBLAS_STATUS_SUCCESS;
  }

  Api api_;
  cublasLtHandle_t handle_;
  DeviceBuffer<uint8_t> workspace_;
  std::map<std::tuple<int, int, int>, Problem> problems_;
};

}  // namespace

std::unique_ptr<CublasLt> CublasLt::open(const std::string& path, std::string* error) {
  void* library = nullptr;
  for (const std::string& name : candidates(path)) {
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    *error = dlerror();
  }
  if (library == nullptr) return nullptr;
  Api api;
  if (!resolve(library, "cublasLtCreate", &api.create) ||
      !resolve(library, "cublasLtGetVersion", &api.get_version) ||
      !resolve(library, "cublasLtMatmulDescCreate", &api.desc_create) ||
      !resolve(library, "cublasLtMatmulDescSetAttribute", &api.desc_set) ||
      !resolve(library, "cublasLtMatrixLayoutCreate", &api.layout_create) ||
      !resolve(library, "cublasLtMatmulPreferenceCreate", &api.preference_create) ||
      !resolve(library, "cublasLtMatmulPreferenceSetAttribute", &api.preference_set) ||
      !resolve(library, "cublasLtMatmulAlgoGetHeuristic", &api.heuristic) ||
      !resolve(library, "cublasLtMatmul", &api.matmul)) {
    *error = "an entry point is missing";
    return nullptr;
  }
  cublasLtHandle_t handle = nullptr;
  if (api.create(&handle) != CUBLAS_STATUS_SUCCESS) {
    *error = "cublasLtCreate failed";
    return nullptr;
  }
  return std::make_unique<CublasLtLibrary>(api, handle);
}

}  // namespace hotproof::kernel::bench
