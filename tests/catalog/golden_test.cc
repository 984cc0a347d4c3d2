// Every row of the golden tables, in every spelling.
#include <gtest/gtest.h>

#include "catalog/classifier.h"
#include "tests/catalog/corpus.h"
#include "tests/catalog/expectation.h"

namespace hotproof::catalog {
namespace {

const Classifier& TheClassifier() {
  static const auto* classifier = new absl::StatusOr<Classifier>(Classifier::Create());
  EXPECT_TRUE(classifier->ok()) << classifier->status();
  return **classifier;
}

TEST(Golden, EveryNamedKernelMangledAndDemangled) {
  const auto kernels = ReadNamedKernels();
  ASSERT_GE(kernels.size(), 243u);
  for (const NamedKernel& kernel : kernels) {
    for (const std::string& name : {kernel.mangled, kernel.demangled}) {
      const KernelClass answer = TheClassifier().Classify(name);
      EXPECT_EQ(Differences(ExpectationOf(kernel), answer), "")
          << "kernel_names.tsv:" << kernel.row << " rule \"" << answer.rule << "\" "
          << name.substr(0, 300);
    }
  }
}

TEST(Golden, EveryObservedKernelIsWhatWasLaunched) {
  const auto kernels = ReadObservedKernels();
  ASSERT_GE(kernels.size(), 136u);
  for (const ObservedKernel& kernel : kernels) {
    const KernelClass answer = TheClassifier().Classify(kernel.name);
    EXPECT_EQ(Differences(ExpectationOf(kernel), answer), "")
        << "observed_kernel_names.tsv:" << kernel.row << " rule \"" << answer.rule << "\" "
        << kernel.name.substr(0, 300) << " seen for " << kernel.seen_for;
  }
}

TEST(Golden, EveryFieldOfRecordedPublicAndSourceNames) {
  const auto kernels = ReadMoreKernels();
  ASSERT_GE(kernels.size(), 300u);
  for (const MoreKernel& kernel : kernels) {
    const KernelClass answer = TheClassifier().Classify(kernel.name);
    EXPECT_EQ(FieldsOf(answer), kernel.fields)
        << "more_kernel_names.tsv:" << kernel.row << " rule \"" << answer.rule << "\" "
        << kernel.name.substr(0, 300);
  }
}

}  // namespace
}  // namespace hotproof::catalog
