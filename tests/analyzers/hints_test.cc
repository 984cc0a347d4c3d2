// What may have been meant by a name that ran nowhere, and what is not said of one that did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzers/nearest.h"
#include "tests/analyzers/assert_helpers.h"

namespace hotproof::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

AssertReport Never(const std::string& selection) {
  return Check(Trace(kServer) + "manifest { finished: true processes { pid: 100 gpu: true } }",
               "expect { " + selection + " max_launches: 0 }");
}

TEST(Hints, AShapeThatDidNotRun) {
  const AssertReport swapped = Never("shape: '5120x34816'");
  EXPECT_EQ(swapped.verdict(), AssertReport::PASS);
  EXPECT_THAT(swapped.warnings(), ElementsAre(HasSubstr("but 34816x5120 ran 256 times")));
  const AssertReport other = Never("shape: '34816x512'");
  EXPECT_THAT(other.notes(), Contains(HasSubstr("nearest of 1 that ran: 34816x5120 (256)")));
  EXPECT_THAT(other.warnings(), IsEmpty());
  EXPECT_THAT(Never("shape: '34816x5120'").notes(), Not(Contains(HasSubstr("nearest"))));
}

TEST(Hints, AKernelThatIsNearlyAlike) {
  const auto alike = [](const std::string& name) {
    return Contains(HasSubstr("most like it: " + name));
  };
  EXPECT_THAT(Never("kernel: 'my_fp8_splitk_kernle'").notes(), alike("my_fp8_splitk_kernel (2 launches)"));
  EXPECT_THAT(Never("kernel: 'my_fp8_splitk'").notes(), Not(alike(""))) << "it ran, in warm-up";
  EXPECT_THAT(Never("kernel: 'absent'").notes(), Not(alike("")));
  EXPECT_THAT(Never("kernel: 'captured_only_kernell'").notes(), Not(alike("captured"))) << "it was not replayed";
}

TEST(Hints, APathOrKindThatThereIsNot) {
  EXPECT_THAT(Error("expect { path: 'deepgemm' launches: 1 }"),
              HasSubstr("path 'deepgemm' is unknown; did you mean deep_gemm? one of: "));
  EXPECT_THAT(Error("expect { kind: 'gem' launches: 1 }"), HasSubstr("did you mean gemm?"));
  EXPECT_THAT(Error("expect { path: 'thunderkittens' launches: 1 }"),
              HasSubstr("path 'thunderkittens' is unknown; one of: "));
}

TEST(Hints, MeantName) {
  using analyzers::MeantName;
  EXPECT_EQ(MeantName("flashinfr", {"flashinfer", "flash"}), "flashinfer");
  EXPECT_EQ(MeantName("ab", {"cd"}), "");
  EXPECT_EQ(MeantName("", {"a"}), "");
}

}  // namespace
}  // namespace hotproof::tests
