// The rules as a whole: each is needed, none holds a name, users can add theirs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "catalog/builtin_rules.h"
#include "catalog/classifier.h"
#include "catalog/name/parsed_name.h"
#include "catalog/rule_checks.h"
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
    path: "custom" kind: "gemm" a_dtype: "$a" b_dtype: "int4" scaling: "block" n: "$n" k: "$k"
  }
  type { name: "acme::f8" dtype: "e4m3" })");
  const auto classifier = Classifier::Create(path);
  ASSERT_TRUE(classifier.ok()) << classifier.status();
  const auto answer =
      classifier->Classify("void acme::block_scaled_gemm_v3<512, 256, acme::f8, 7>(int)");
  EXPECT_EQ(answer.path, Path::kCustom);
  EXPECT_EQ(answer.rule, "ours.gemm");
  EXPECT_EQ(answer.a_dtype, "e4m3");
  EXPECT_EQ(answer.b_dtype, "int4");
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
  } kCases[] = {{"rule {\n  idd: \"x\"\n}", "user_rules.textproto:2:"},
                {"rule { kind: \"gemm\" name: \"f\" }", "a rule without id"},
                {"rule { id: \"x\" kind: \"gemm\" }", "rule \"x\": no name pattern"},
                {"rule { id: \"x\" name: \"f<\" kind: \"gemm\" }",
                 "rule \"x\": a name is expected at column 3"},
                {"rule { id: \"x\" name: \"f\" kind: \"gem\" }",
                 "rule \"x\": kind 'gem' is unknown; did you mean gemm? one of: "},
                {"rule { id: \"x\" name: \"f\" kind: \"gemm\" path: \"p\" }",
                 "rule \"x\": path 'p' is unknown; one of: "},
                {R"(rule { id: "x" name: "a" path: "custom" kind: "gemm" }
          rule { id: "x" name: "b" path: "custom" kind: "gemm" })",
                 "rule \"x\" is there twice"},
                {"rule { id: \"x\" name: \"f\" kind: \"gemm\" n: \"$n\" }",
                 "rule \"x\": $n is captured by no"},
                {"rule { id: \"x\" name: \"f\" }", "rule \"x\": no kind; add"},
                {"owner { name: \"f\" path: \"other\" }", "an owner without id"},
                {"owner { id: \"x\" path: \"other\" }", "owner \"x\": no name pattern"},
                {"owner { id: \"x\" name: \"f\" }", "owner \"x\": no path; add"},
                {"owner { id: \"x\" name: \"f\" path: \"othr\" }",
                 "owner \"x\": path 'othr' is unknown; did you mean other?"},
                {"owner { id: \"x\" name: \"f\" path: \"other\" not_kind: \"gem\" }",
                 "not_kind 'gem' is unknown"},
                {"type { name: \"f\" dtype: \"fp9\" }",
                 "type \"f\": dtype 'fp9' is unknown; did you mean fp8? one of: "},
                {"type { name: \"f\" }", "type \"f\": dtype '' is unknown; one of: "},
                {"scalar_type { id: 7 dtype: \"fp9\" }", "scalar_type 7: dtype 'fp9' is unknown"},
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

// A word that nobody knows would stand in reports as a type, a scaling, a tile of its own.
TEST_F(UserRules, FieldsThatSayNothingAreRefused) {
  const auto complaint = [&](const std::string& field, const std::string& value) {
    const auto classifier = Classifier::Create(
        Write("rule { id: \"x\" name: \"f<$n:#>\" kind: \"gemm\" " + field + ": " + value + " }"));
    return classifier.ok() ? "" : std::string(classifier.status().message());
  };
  for (const std::string field : {"a_dtype", "b_dtype", "d_dtype"}) {
    EXPECT_THAT(complaint(field, "'fp9'"),
                HasSubstr("rules.textproto: rule \"x\": " + field +
                          " 'fp9' is unknown; did you mean fp8? one of: fp64 "));
    EXPECT_THAT(complaint(field, "'$n or so'"),
                HasSubstr("$n or so is captured by no name pattern; "));
    for (const char* good : {"''", "'$n'", "'$element'", "'e4m3'", "'mxfp4'"})
      EXPECT_EQ(complaint(field, good), "");
  }
  EXPECT_EQ(complaint("b_dtype", "'$a_dtype'"), "");
  EXPECT_THAT(complaint("d_dtype", "'$a_dtype'"), HasSubstr("captured by no"));
  for (const std::string field : {"scaling", "other_scaling"}) {
    EXPECT_THAT(complaint(field, "'blok'"),
                HasSubstr(field + " 'blok' is unknown; did you mean block? one of: "));
    EXPECT_THAT(complaint(field, "'$n'"), HasSubstr("is unknown")) << "a constant alone";
    EXPECT_EQ(complaint(field, "'token_channel'"), "");
  }
  for (const std::string field : {"m", "n", "k"}) {
    for (const char* bad : {"'many'", "'0'", "'-1'", "'1x2'"})
      EXPECT_THAT(complaint(field, bad), HasSubstr(" is no extent; give a number above 0"));
    for (const char* good : {"''", "'$n'", "'5120'"}) EXPECT_EQ(complaint(field, good), "");
  }
  for (const char* bad : {"'big'", "'128x64'", "'$n x'", "'64 x 0'"})
    EXPECT_NE(complaint("tile", bad), "") << bad;
  EXPECT_THAT(complaint("tile", "'128x64'"), HasSubstr("write it like \"$bm x $bn x 64\""));
  for (const char* good : {"''", "'$n'", "'$n x 64 x $n'", "'128 x 64'"})
    EXPECT_EQ(complaint("tile", good), "") << good;
  for (const char* bad : {"'hopper'", "'sm'", "'sm_90'", "'90'"})
    EXPECT_THAT(complaint("arch", bad), HasSubstr("is no architecture; write it like sm90")) << bad;
  for (const char* good : {"''", "'$function'", "'sm90'", "'sm100f'", "'sm121a'"})
    EXPECT_EQ(complaint("arch", good), "") << good;
  EXPECT_THAT(complaint("path", "'cutlas_vllm'"), HasSubstr("did you mean cutlass_vllm?"));
  EXPECT_THAT(complaint("kind_in_call", "'quantt'"),
              HasSubstr("kind_in_call 'quantt' is unknown; did you mean quant?"));
  EXPECT_THAT(complaint("grammar", "99"),
              HasSubstr("grammar '99' is unknown; one of: GRAMMAR_NONE NVJET "));
}

// A rule may say what the catalogue itself says.
TEST(Rules, WordsOfAllAnswersAreKnown) {
  const std::vector<std::string>&dtypes = DtypeNames(), &scalings = ScalingNames();
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return name.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto classifier = Classifier::Create();
  ASSERT_TRUE(classifier.ok());
  for (const std::string& name : AllNames()) {
    const KernelClass answer = classifier->Classify(name);
    for (const std::string* dtype : {&answer.a_dtype, &answer.b_dtype, &answer.d_dtype})
      EXPECT_TRUE(has(dtypes, *dtype)) << *dtype << " of " << name;
    for (const std::string* scaling : {&answer.scaling, &answer.other_scaling})
      EXPECT_TRUE(has(scalings, *scaling)) << *scaling << " of " << name;
    EXPECT_TRUE(answer.arch.empty() || IsArchitecture(answer.arch))
        << answer.arch << " of " << name;
  }
}

}  // namespace
}  // namespace hotproof::catalog
