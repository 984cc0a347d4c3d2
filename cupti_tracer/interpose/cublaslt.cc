// Stands in front of cublasLtMatmul and reads its descriptors with the same library's own getters.

#include <dlfcn.h>

#include <atomic>
#include <new>

#include "cupti_tracer/interpose/cublas.h"

namespace hotproof::tracer {
namespace {

constexpr char kLibrary[] = "libcublasLt.so";

// cublasLtMatrixLayoutAttribute_t and cublasLtMatmulDescAttributes_t, as far as they are asked for.
enum LayoutAttribute {
  kLayoutType = 0,         // uint32
  kLayoutOrder = 1,        // int32
  kLayoutRows = 2,         // uint64
  kLayoutCols = 3,         // uint64
  kLayoutLd = 4,           // int64
  kLayoutBatchCount = 5,   // int32
  kLayoutBatchStride = 6,  // int64
};
enum DescAttribute {
  kDescComputeType = 0,  // int32
  kDescScaleType = 1,    // int32
  kDescTransA = 3,       // int32
  kDescTransB = 4,       // int32
  kDescEpilogue = 7,     // uint32
  kDescAScaleMode = 31,  // int32; since 12.8
  kDescBScaleMode = 32,
  kDescDScaleMode = 34,
};

using Getter = int(const void* object, int attribute, void* value, size_t size, size_t* written);

// The getters of the library that holds `matmul`.
struct Getters {
  Getter* layout = nullptr;
  Getter* desc = nullptr;

  const void* matmul = nullptr;
  const Getters* next = nullptr;

  static Getters Of(const void* matmul);
};

Getters Getters::Of(const void* matmul) {
  // One library in nearly every process; entries are never freed, others read them.
  static constinit std::atomic<const Getters*> all{nullptr};
  for (const Getters* known = all.load(std::memory_order_acquire); known != nullptr;
       known = known->next) {
    if (known->matmul == matmul) return *known;
  }
  Getters getters;
  Dl_info info{};
  if (dladdr(matmul, &info) == 0 || info.dli_fname == nullptr) return getters;
  void* const handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return getters;
  getters.layout = reinterpret_cast<Getter*>(dlsym(handle, "cublasLtMatrixLayoutGetAttribute"));
  getters.desc = reinterpret_cast<Getter*>(dlsym(handle, "cublasLtMatmulDescGetAttribute"));
  getters.matmul = matmul;
  dlclose(handle);  // RealFunction keeps it loaded
  dlerror();
  if (Getters* kept = new (std::nothrow) Getters(getters)) {
    kept->next = all.load(std::memory_order_acquire);
    while (!all.compare_exchange_weak(kept->next, kept, std::memory_order_acq_rel)) {
    }
  }
  return getters;
}

template <typename Value>
bool Get(Getter* getter, const void* object, int attribute, Value& value) {
  size_t written = 0;
  return getter != nullptr && object != nullptr &&
         getter(object, attribute, &value, sizeof value, &written) == 0 && written == sizeof value;
}

struct Matrix {
  uint32_t type = 0;
  int32_t order = 0, batch = 1;
  uint64_t rows = 0, cols = 0;
  int64_t ld = 0, stride = 0;
  bool known = false;
};

Matrix ReadMatrix(const Getters& getters, const void* layout) {
  Matrix matrix;
  matrix.known = Get(getters.layout, layout, kLayoutRows, matrix.rows) &&
                 Get(getters.layout, layout, kLayoutCols, matrix.cols) &&
                 Get(getters.layout, layout, kLayoutType, matrix.type);
  Get(getters.layout, layout, kLayoutOrder, matrix.order);
  Get(getters.layout, layout, kLayoutLd, matrix.ld);
  Get(getters.layout, layout, kLayoutBatchCount, matrix.batch);
  Get(getters.layout, layout, kLayoutBatchStride, matrix.stride);
  return matrix;
}

uint32_t KnownEnumerator(Getter* getter, const void* object, int attribute) {
  int32_t value = 0;
  return Get(getter, object, attribute, value) ? Known(value) : 0;
}

trace::LibraryCallEntry Describe(const void* matmul, const void* desc, const void* a_layout,
                                 const void* b_layout, const void* c_layout, const void* d_layout) {
  trace::LibraryCallEntry call;
  call.entry_point = "cublasLtMatmul";
  const Getters getters = Getters::Of(matmul);
  const Matrix a = ReadMatrix(getters, a_layout), b = ReadMatrix(getters, b_layout),
               c = ReadMatrix(getters, c_layout), d = ReadMatrix(getters, d_layout);
  auto& numbers = call.numbers;
  int32_t transa = 0, transb = 0;
  Get(getters.desc, desc, kDescTransA, transa);
  Get(getters.desc, desc, kDescTransB, transb);
  numbers.operation_a = static_cast<uint32_t>(transa);
  numbers.operation_b = static_cast<uint32_t>(transb);
  if (a.known && d.known) {
    numbers.m = d.rows;
    numbers.n = d.cols;
    numbers.k = transa == 0 ? a.cols : a.rows;
    numbers.batch = static_cast<uint64_t>(d.batch);
    numbers.a_type = Known(a.type);
    numbers.d_type = Known(d.type);
    numbers.order_d = static_cast<uint32_t>(d.order);
  }
  if (b.known) numbers.b_type = Known(b.type);
  if (c.known) numbers.c_type = Known(c.type);
  numbers.lda = static_cast<uint64_t>(a.ld);
  numbers.ldb = static_cast<uint64_t>(b.ld);
  numbers.ldd = static_cast<uint64_t>(d.ld);
  numbers.stride_a = static_cast<uint64_t>(a.stride);
  numbers.stride_b = static_cast<uint64_t>(b.stride);
  numbers.stride_d = static_cast<uint64_t>(d.stride);
  int32_t compute = 0;
  if (Get(getters.desc, desc, kDescComputeType, compute)) {
    numbers.compute_type = static_cast<uint32_t>(compute);
  }
  numbers.scale_type = KnownEnumerator(getters.desc, desc, kDescScaleType);
  Get(getters.desc, desc, kDescEpilogue, numbers.epilogue);
  numbers.a_scale_mode = KnownEnumerator(getters.desc, desc, kDescAScaleMode);
  numbers.b_scale_mode = KnownEnumerator(getters.desc, desc, kDescBScaleMode);
  numbers.d_scale_mode = KnownEnumerator(getters.desc, desc, kDescDScaleMode);
  return call;
}

}  // namespace

HOTPROOF_INTERPOSE int cublasLtMatmul(void* handle, const void* desc, const void* alpha,
                                      const void* a, const void* a_layout, const void* b,
                                      const void* b_layout, const void* beta, const void* c,
                                      const void* c_layout, void* d, const void* d_layout,
                                      const void* algorithm, void* workspace,
                                      size_t workspace_bytes, void* stream) {
  static constinit RealFunction real("cublasLtMatmul", kLibrary);
  auto* function = reinterpret_cast<decltype(cublasLtMatmul)*>(
      real.For(__builtin_return_address(0), reinterpret_cast<const void*>(&cublasLtMatmul)));
  if (function == nullptr) return kCublasStatusNotSupported;
  const auto forward = [&] {
    return function(handle, desc, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,
                    algorithm, workspace, workspace_bytes, stream);
  };
  if (!WantsLibraryCall()) return forward();
  const trace::LibraryCallEntry call = Describe(reinterpret_cast<const void*>(function), desc,
                                                a_layout, b_layout, c_layout, d_layout);
  const LibraryCallScope scope(call);
  return forward();
}

}  // namespace hotproof::tracer
