// What may have been meant by a name that ran nowhere, and what is not said of one that did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "analyzers/nearest.h"
#include "catalog/meant_name.h"
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

TEST(Hints, APatternThatMatchesNothingAtAll) {
  const auto nothing = Contains(HasSubstr("matches no kernel of the whole trace, of 2 that ran"));
  for (const char* bounds :
       {"max_launches: 0", "max_launches: 7", "time_share: '<0.5'", "min_launches: 1",
        "launches_per_replay: 2", "shape: '34816x5120' max_launches: 0"}) {
    const AssertReport absent =
        Check(Trace(kServer), absl::StrCat("expect { kernel: 'fallback' ", bounds, " }"));
    EXPECT_THAT(absent.notes(), nothing) << bounds;
    const AssertReport present =
        Check(Trace(kServer), absl::StrCat("expect { kernel: 'my_fp8' ", bounds, " }"));
    EXPECT_THAT(present.notes(), Not(nothing)) << bounds << ": it ran, in warm-up";
  }
  const AssertReport never = Never("kernel: 'fallback'");
  EXPECT_EQ(never.verdict(), AssertReport::PASS);
  EXPECT_THAT(never.warnings(), IsEmpty()) << "it is what 'never' hopes for";
  EXPECT_THAT(never.notes(), Contains(HasSubstr("kernel /fallback/ matches no kernel")));
  EXPECT_THAT(Never("kernel: 'captured_only'").notes(),
              Contains(HasSubstr("but 1 that had no launch (captured, not replayed)")));
  // In one process of several is enough.
  const std::string two = Trace(kServer) +
                          "trace { header { pid: 66 } kernel { id: 1 name: 'other' } "
                          "site { id: 1 kernel_id: 1 } step { launch { site: 1 } } }";
  const std::string flags = " processes: ANY max_launches: 0 } phase: ALL";
  EXPECT_THAT(Check(two, "expect { kernel: 'other'" + flags).notes(),
              Not(Contains(HasSubstr("matches no kernel"))));
  EXPECT_THAT(Check(two, "expect { kernel: 'neither'" + flags).notes(),
              Contains(HasSubstr("of 3 that ran")));
}

TEST(Hints, ARangeThatIsNearlyAlike) {
  const auto never = [](const std::string& selection) {
    return Check(R"(trace { kernel { id: 1 name: "k" } range_path { id: 1 name: "eager" } range_path { id: 2 name: "prefill" }
                      site { id: 1 kernel_id: 1 range_path: 1 } site { id: 2 kernel_id: 1 range_path: 2 }
                      step { launch { site: 1 times: 7 } } step { launch { site: 2 times: 3 } } })",
                 "phase: ALL expect { " + selection + " max_launches: 0 }");
  };
  const AssertReport alike = never("range: 'Eager'");
  EXPECT_EQ(alike.verdict(), AssertReport::PASS);
  EXPECT_THAT(alike.notes(), Contains(HasSubstr("matches /Eager/; most like it: eager (7 launches)")));
  EXPECT_THAT(never("range: 'nowhere'").notes(), Contains(HasSubstr("one of 2 there are: eager (7 launches)")));
  EXPECT_THAT(never("kernel: 'other' range: 'eager'").notes(), Not(Contains(HasSubstr("no range")))) << "it is there";
  EXPECT_THAT(never("kernel: 'k' range: 'Eager'").notes(), Contains(HasSubstr("no range with a launch matches")));
}

TEST(Hints, AFileThatNothingIsFrom) {
  const auto never = [](const std::string& hash) {
    return Check(R"(trace { kernel { id: 1 name: "k" cubin_hash: 7 } site { id: 1 kernel_id: 1 launching_library: "/a/app" }
                      step { launch { site: 1 } } })",
                 "phase: ALL expect { cubin_of: 'my.so' device_code { cubin_hashes: " + hash + " } max_launches: 0 }");
  };
  const AssertReport other = never("8");
  EXPECT_EQ(other.verdict(), AssertReport::PASS);
  EXPECT_THAT(other.notes(), Contains(HasSubstr("no kernel that was launched is from my.so")));
  EXPECT_EQ(never("7").verdict(), AssertReport::FAIL);
  EXPECT_THAT(never("7").notes(), Not(Contains(HasSubstr("is from my.so"))));
}

TEST(Hints, APathOrKindThatThereIsNot) {
  EXPECT_THAT(Error("expect { path: 'deepgemm' launches: 1 }"),
              HasSubstr("path 'deepgemm' is unknown; did you mean deep_gemm? one of: "));
  EXPECT_THAT(Error("expect { kind: 'gem' launches: 1 }"), HasSubstr("did you mean gemm?"));
  EXPECT_THAT(Error("expect { path: 'thunderkittens' launches: 1 }"),
              HasSubstr("path 'thunderkittens' is unknown; one of: "));
}

TEST(Hints, ANumberThatIsNoWord) {
  EXPECT_THAT(Error("phase: 7 expect { kernel: 'k' launches: 1 }"),
              HasSubstr("phase '7' is unknown; one of: STEADY ALL"));
  EXPECT_THAT(Error("expect { kernel: 'k' launches: 1 processes: 9 }"),
              HasSubstr("processes '9' is unknown; one of: EVERY ANY SUM"));
  EXPECT_EQ(Error("phase: 2 expect { kernel: 'k' launches: 1 processes: 3 }"), "");
}

TEST(Hints, MeantName) {
  using catalog::MeantName;
  EXPECT_EQ(MeantName("flashinfr", {"flashinfer", "flash"}), "flashinfer");
  EXPECT_EQ(MeantName("ab", {"cd"}), "");
  EXPECT_EQ(MeantName("", {"a"}), "");
}

}  // namespace
}  // namespace hotproof::tests
