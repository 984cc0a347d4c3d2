// The rules as a whole: each is needed, none holds a name, users can add theirs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "catalog/builtin_rules.h"
#include "catalog/classifier.h"
#include "catalog/name/parsed_name.h"
#include "catalog/rule_text.h"
#include "tests/catalog/corpus.h"
#include "tests/catalog/expectation.h"

namespace hotproof::catalog {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

RuleSet AllRules() {
  RuleSet all;
  for (const BuiltinRules& file : AllBuiltinRules()) {
    const auto rules = ReadBuiltin(file);
    EXPECT_TRUE(rules.ok()) << rules.status();
    all.MergeFrom(*rules);
  }
  return all;
}

KernelClass Classify(const CompiledRules& rules, const std::string& name) {
  const ParsedName parsed(name);
  return rules.Classify(parsed);
}

// Does some row of the golden tables fail under these rules?
bool SomeRowFails(const CompiledRules& rules) {
  for (const MoreKernel& kernel : ReadMoreKernels()) {
    if (FieldsOf(Classify(rules, kernel.name)) != kernel.fields) return true;
  }
  for (const NamedKernel& kernel : ReadNamedKernels()) {
    if (!Differences(ExpectationOf(kernel), Classify(rules, kernel.demangled)).empty()) return true;
  }
  return false;
}

// The program takes their patterns for right.
TEST(Rules, TheBuiltInOnesAreRight) {
  for (const BuiltinRules& file : AllBuiltinRules()) {
    CompiledRules rules;
    const auto read = ReadBuiltin(file);
    ASSERT_TRUE(read.ok()) << read.status();
    const auto status = rules.Add(*read, std::string(file.file));
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(Rules, IdsAreUnique) {
  const auto rules = LoadRules();
  ASSERT_TRUE(rules.ok()) << rules.status();
  const auto ids = rules->RuleIds();
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
  EXPECT_GT(ids.size(), 100u);
}

TEST(Rules, TheGoldenTablesHold) {
  const auto rules = LoadRules();
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_FALSE(SomeRowFails(*rules));
}

TEST(Rules, EachOneSwitchedOffBreaksAGoldenRow) {
  for (const std::string& id : LoadRules()->RuleIds()) {
    auto rules = LoadRules();
    ASSERT_TRUE(rules.ok()) << rules.status();
    rules->Remove(id);
    EXPECT_TRUE(SomeRowFails(*rules)) << "no name of the golden tables needs " << id;
  }
}

TEST(Rules, EachTypeIsNeeded) {
  RuleSet all = AllRules();
  for (int i = 0; i < all.type_size(); ++i) {
    RuleSet without = all;
    without.mutable_type()->DeleteSubrange(i, 1);
    CompiledRules with_rules, without_rules;
    ASSERT_TRUE(with_rules.Add(all, "all").ok());
    ASSERT_TRUE(without_rules.Add(without, "without").ok());
    const std::string text = "f<" + all.type(i).name() + ">()";
    const ParsedName probe(text);
    ASSERT_NE(probe.root(), nullptr) << all.type(i).name();
    const Node& type = *probe.root()->args[0];
    EXPECT_EQ(with_rules.DtypeOf(type), all.type(i).dtype());
    EXPECT_EQ(without_rules.DtypeOf(type), "") << all.type(i).name() << " is listed twice";
  }
}

TEST(Rules, NoneHoldsAWholeName) {
  std::set<std::string> names;
  for (const std::string& name : AllNames()) {
    names.insert(name);
    names.insert(CanonicalName(name));
  }
  const RuleSet all = AllRules();
  for (const Rule& rule : all.rule()) {
    for (const std::string& pattern : rule.name())
      EXPECT_FALSE(names.contains(pattern)) << rule.id();
  }
}

// '%' stands for any characters of a word; on both sides of a text it would search for a substring.
TEST(Rules, NoneMatchesASubstring) {
  const RuleSet all = AllRules();
  for (const Rule& rule : all.rule()) {
    for (const std::string& pattern : rule.name()) {
      for (size_t at = 0; at < pattern.size();) {
        const size_t end = std::min(pattern.find_first_of(" |{}<>:,", at), pattern.size());
        const std::string word = pattern.substr(at, end - at);
        EXPECT_FALSE(word.starts_with('%') && word.ends_with('%')) << rule.id() << " " << pattern;
        at = end + 1;
      }
    }
  }
}

class UserRules : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) {
    const std::string path = ::testing::TempDir() + "/user_rules.textproto";
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(UserRules, ComeFirst) {
  const auto path = Write(R"(rule {
    id: "ours.gemm" name: "acme::{block scaled gemm *}<$n, $k, $a, ...>"
    path: "custom" kind: "gemm" a_dtype: "$a" b_dtype: "acme4" scaling: "block" n: "$n" k: "$k"
  }
  type { name: "acme::f8" dtype: "e4m3" })");
  const auto classifier = Classifier::Create(path);
  ASSERT_TRUE(classifier.ok()) << classifier.status();
  const auto answer =
      classifier->Classify("void acme::block_scaled_gemm_v3<512, 256, acme::f8, 7>(int)");
  EXPECT_EQ(answer.path, Path::kCustom);
  EXPECT_EQ(answer.rule, "ours.gemm");
  EXPECT_EQ(answer.a_dtype, "e4m3");
  EXPECT_EQ(answer.b_dtype, "acme4");
  EXPECT_EQ(answer.n, 512);
  EXPECT_EQ(answer.k, 256);
  EXPECT_EQ(answer.m, std::nullopt);
  // Without the rule it is a product of nobody known, and of unknown types.
  const auto plain =
      Classifier::Create()->Classify("void acme::block_scaled_gemm_v3<512, 256, acme::f8, 7>(int)");
  EXPECT_EQ(plain.path, Path::kUnknown);
  EXPECT_EQ(plain.kind, Kind::kGemm);
  EXPECT_EQ(plain.a_dtype, "");
}

TEST_F(UserRules, MistakesNameFileLineAndRemedy) {
  const struct {
    const char* text;
    const char* message;
  } kCases[] = {
      {"rule {\n  idd: \"x\"\n}", "user_rules.textproto:2:"},
      {"rule { kind: \"gemm\" name: \"f\" }", "a rule without id"},
      {"rule { id: \"x\" kind: \"gemm\" }", "rule \"x\": no name pattern"},
      {"rule { id: \"x\" name: \"f<\" kind: \"gemm\" }",
       "rule \"x\": a name is expected at column 3"},
      {"rule { id: \"x\" name: \"f\" kind: \"gem\" }", "rule \"x\": unknown kind \"gem\""},
      {"rule { id: \"x\" name: \"f\" kind: \"gemm\" path: \"p\" }",
       "rule \"x\": unknown path \"p\""},
      {R"(rule { id: "x" name: "a" path: "custom" kind: "gemm" }
          rule { id: "x" name: "b" path: "custom" kind: "gemm" })",
       "rule \"x\" is there twice"},
      {"rule { id: \"x\" name: \"f\" kind: \"gemm\" n: \"$n\" }",
       "rule \"x\": $n is captured by no"},
      {"owner { name: \"f\" path: \"other\" }", "an owner without id"},
      {"type { name: \"{\" dtype: \"x\" }", "type: '}' is expected"}};
  for (const auto& [text, message] : kCases) {
    const auto classifier = Classifier::Create(Write(text));
    ASSERT_FALSE(classifier.ok()) << text;
    EXPECT_THAT(std::string(classifier.status().message()),
                AllOf(HasSubstr("user_rules.textproto"), HasSubstr(message)));
  }
  const auto missing = Classifier::Create("/nowhere/rules.textproto");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(std::string(missing.status().message()),
              HasSubstr("/nowhere/rules.textproto: cannot read"));
}

}  // namespace
}  // namespace hotproof::catalog
