// One kernel, three printers, one answer.
#include "tests/catalog/spelling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/classifier.h"
#include "tests/catalog/corpus.h"
#include "tests/catalog/expectation.h"

namespace hotproof::catalog {
namespace {

bool IsActivity(const std::string& name) { return name.starts_with("Mem"); }

TEST(Spelling, MangledDemangledAndNsysNamesHaveOneCanonicalForm) {
  for (const NamedKernel& kernel : ReadNamedKernels()) {
    if (IsActivity(kernel.demangled)) continue;
    const std::string canonical = CanonicalName(kernel.demangled);
    EXPECT_EQ(CanonicalName(kernel.mangled), canonical) << "row " << kernel.row;
    EXPECT_EQ(CanonicalName(NsysSpelling(kernel.demangled)), canonical)
        << "row " << kernel.row << " " << NsysSpelling(kernel.demangled).substr(0, 400);
  }
}

TEST(Spelling, TheCanonicalFormIsItsOwn) {
  for (const std::string& name : AllNames()) {
    if (IsActivity(name)) continue;
    const std::string canonical = CanonicalName(name);
    EXPECT_EQ(CanonicalName(canonical), canonical) << name.substr(0, 300);
  }
}

TEST(Spelling, EverySpellingIsClassifiedAlike) {
  const auto classifier = Classifier::Create();
  ASSERT_TRUE(classifier.ok()) << classifier.status();
  for (const NamedKernel& kernel : ReadNamedKernels()) {
    const KernelClass expected = classifier->Classify(kernel.demangled);
    for (const std::string& spelling :
         {kernel.mangled, NsysSpelling(kernel.demangled), CanonicalName(kernel.demangled)}) {
      const KernelClass answer = classifier->Classify(spelling);
      EXPECT_EQ(FieldsOf(answer), FieldsOf(expected)) << spelling.substr(0, 300);
      EXPECT_EQ(answer.rule, expected.rule) << spelling.substr(0, 300);
    }
  }
}

// Published nsys output, and what c++filt prints for the same kernels.
TEST(Spelling, NsysOutputIsRead) {
  EXPECT_EQ(
      CanonicalName(
          "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align1>(T1::Params)"),
      "cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align1>");
  EXPECT_EQ(
      CanonicalName(
          "void at::native::<unnamed>::CatArrayBatchedCopy<at::native::<unnamed>::OpaqueType<"
          "(unsigned int)2>, unsigned int, (int)4, (int)64, (int)64>(T1 *, int, T2)"),
      "at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::"
      "OpaqueType<2u>, unsigned int, 4, 64, 64>");
  EXPECT_EQ(
      CanonicalName(
          "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl<"
          "at::native::f(at::TensorIteratorBase &)::[lambda() (instance 3)]::operator ()() const::"
          "[lambda(float) (instance 1)]>(at::TensorIteratorBase &, const T1 &)::[lambda(int) "
          "(instance 1)]>(int, T3)"),
      "at::native::elementwise_kernel<128, 2, "
      "at::native::gpu_kernel_impl<at::native::f()::{lambda()#3}::"
      "operator()()::{lambda(float)#1}>()::{lambda(int)#1}>");
  EXPECT_EQ(CanonicalName("std::enable_if<T2>(int)0&&vllm::_typeConvert<T1>::exists, void>::type "
                          "vllm::fused_add_rms_norm_kernel<c10::BFloat16, (int)8>(T1 *, long)"),
            "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>");
  EXPECT_EQ(
      CanonicalName(
          "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16>, (bool)1>"
          "(T1 *, const T1 *, int)"),
      "vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16>, true>");
}

TEST(Spelling, TextThatIsNoNameStaysAsItIs) {
  for (const char* text :
       {"", "   ", "_Z", "_ZN", "<", "a b c !", "Memcpy DtoD (Device -> Device)"}) {
    EXPECT_EQ(CanonicalName(text), text);
  }
}

}  // namespace
}  // namespace hotproof::catalog
