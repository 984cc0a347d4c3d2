// Layouts as data: none is dead or unfounded, users add theirs, mistakes are named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "catalog/rule_text.h"
#include "proto/catalog.pb.h"
#include "tests/catalog/layout_reading.h"

namespace hotproof::catalog {
namespace {

using ::testing::HasSubstr;

TEST(Layouts, EachIsForSomeKernelAndNamesRulesThatExist) {
  const auto set = LayoutSet::Load();
  ASSERT_TRUE(set.ok()) << set.status();
  const auto rules = LoadRules();
  const auto ids = rules->RuleIds();
  const std::set<std::string> rule_ids(ids.begin(), ids.end());
  std::set<std::string> seen;
  for (const CompiledLayout& layout : set->all()) {
    EXPECT_TRUE(seen.insert(layout.id()).second) << layout.id() << " is there twice";
    for (const std::string& rule : layout.rules()) {
      EXPECT_TRUE(rule_ids.contains(rule)) << layout.id() << ": " << rule;
    }
  }
  EXPECT_GT(seen.size(), 15u);
}

TEST(Layouts, UsersAddTheirs) {
  const std::string path = ::testing::TempDir() + "/user_layouts.textproto";
  std::ofstream(path) << R"(
    rule { id: "acme" name: "acme::gemm" path: "custom" kind: "gemm" }
    layout { id: "acme.gemm" rule: "acme" parameters: "8 8 _" checked: "by hand"
      field { name: "m" parameter: 2 } field { name: "n" parameter: 2 offset: 8 bytes: 8 }
      field { name: "k" parameter: 2 offset: 4 plus: 1 } check: "k >= 128" })";
  const auto classifier = Classifier::Create(path);
  ASSERT_TRUE(classifier.ok()) << classifier.status();
  const Launch launch{{8, 8, 16}, {{16, 4}, {20, 127}, {24, 256}}, {}};
  const auto reading = Read(*classifier, "void acme::gemm(float*)", launch);
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ((Dims{*reading->m, *reading->n, *reading->k}), (Dims{4, 256, 128}));
}

TEST(Layouts, MistakesAreNamed) {
  const auto error = [](const std::string& fields) {
    const auto rules = ParseRules("layout { id: 'x' " + fields + " }", "x.textproto");
    EXPECT_TRUE(rules.ok()) << rules.status();
    LayoutSet set;
    return std::string(set.Add(*rules, "x.textproto").message());
  };
  EXPECT_THAT(error("checked: 'v1' parameters: '8'"), HasSubstr("no rule"));
  EXPECT_THAT(error("rule: 'r' parameters: '8'"), HasSubstr("not checked"));
  EXPECT_THAT(error("rule: 'r' checked: 'v1'"), HasSubstr("parameters: is empty"));
  EXPECT_THAT(error("rule: 'r' checked: 'v1' parameters: '8 x'"), HasSubstr("no parameter"));
  EXPECT_THAT(error("rule: 'r' checked: 'v1' parameters: '8*:m'"), HasSubstr("can be named"));
  EXPECT_THAT(error("rule: 'r' checked: 'v1' parameters: '8' check: 'a = b'"),
              HasSubstr("is no check"));
  EXPECT_THAT(error("rule: 'r' checked: 'v1' parameters: '4:m' check: 'mm == 8 | m'"),
              HasSubstr("nothing is called mm"));
  EXPECT_EQ(error("rule: 'r' checked: 'v1' parameters: '4:m' constant: 'one = 1' field { name: 'f' } "
                  "check: 'm <= tiles_m | one | f | grid_x'"),
            "");
  EXPECT_THAT(error("rule: 'r' checked: 'v1' parameters: '8' constant: 'm 1'"),
              HasSubstr("no constant"));
  EXPECT_THAT(error("rule: 'r' checked: 'v1' parameters: '8' field { name: 'm' bytes: 3 }"),
              HasSubstr("4 or 8 bytes"));
}

}  // namespace
}  // namespace hotproof::catalog
