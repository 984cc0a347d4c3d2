// libcublasLt without a GPU.
#include <cstring>

#include "tests/fake_cuda/libraries/blas.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

FakeBlasLaunch* launch = nullptr;

template <typename Value>
int Give(const Value& member, void* value, size_t size, size_t* written) {
  if (size != sizeof member) return 7;  // CUBLAS_STATUS_INVALID_VALUE
  std::memcpy(value, &member, size);
  *written = size;
  return 0;
}

}  // namespace

FAKE_EXPORT void fake_cublaslt_use(FakeBlasLaunch* use) { launch = use; }

FAKE_EXPORT int cublasLtMatrixLayoutGetAttribute(const void* object, int attribute, void* value,
                                                 size_t size, size_t* written) {
  const auto& layout = *static_cast<const FakeMatrixLayout*>(object);
  switch (attribute) {
    case 0:
      return Give(layout.type, value, size, written);
    case 1:
      return Give(layout.order, value, size, written);
    case 2:
      return Give(layout.rows, value, size, written);
    case 3:
      return Give(layout.cols, value, size, written);
    case 4:
      return Give(layout.ld, value, size, written);
    case 5:
      return Give(layout.batch, value, size, written);
    case 6:
      return Give(layout.stride, value, size, written);
    default:
      return 7;
  }
}

FAKE_EXPORT int cublasLtMatmulDescGetAttribute(const void* object, int attribute, void* value,
                                               size_t size, size_t* written) {
  const auto& desc = *static_cast<const FakeMatmulDesc*>(object);
  switch (attribute) {
    case 0:
      return Give(desc.compute_type, value, size, written);
    case 1:
      return Give(desc.scale_type, value, size, written);
    case 3:
      return Give(desc.transa, value, size, written);
    case 4:
      return Give(desc.transb, value, size, written);
    case 7:
      return Give(desc.epilogue, value, size, written);
    case 31:
      return desc.a_scale_mode < 0 ? 7 : Give(desc.a_scale_mode, value, size, written);
    case 32:
      return desc.b_scale_mode < 0 ? 7 : Give(desc.b_scale_mode, value, size, written);
    case 34:
      return desc.d_scale_mode < 0 ? 7 : Give(desc.d_scale_mode, value, size, written);
    default:
      return 7;
  }
}

// A split K: its workspace is cleared, then the product, then its reduction.
FAKE_EXPORT int cublasLtMatmul(void*, const void*, const void*, const void*, const void*,
                               const void*, const void*, const void*, const void*, const void*,
                               void*, const void*, const void*, void*, size_t, void*) {
  launch("fill");
  launch("product");
  launch("reduce");
  return 0;
}
