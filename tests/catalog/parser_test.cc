// The parsed form of names, mangled and demangled, and what is no name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/match/pattern.h"
#include "catalog/match/pattern_index.h"
#include "catalog/match/words.h"
#include "catalog/name/parsed_name.h"

namespace hotproof::catalog {
namespace {

using ::testing::ElementsAre;

std::string Canonical(const std::string& text) {
  const ParsedName name(text);
  return name.root() == nullptr ? "(none)" : PrintCanonical(*name.root());
}

TEST(ItaniumParser, ReadsWhatKernelsUse) {
  const std::pair<const char*, const char*> kNames[] = {
      {"_Z3foov", "foo"},
      {"_ZL3fooi", "foo"},
      {"_ZN3abc3fooEi", "abc::foo"},
      {"_Z3fooIiLi4ELb1ELj128ELm7ELin3EEvv", "foo<int, 4, true, 128u, 7ul, -3>"},
      {"_Z3fooIPKcRfOdEvv", "foo<char const*, float&, double&&>"},
      {"_Z3fooILN1a1bE2EEvv", "foo<(a::b)2>"},
      {"_Z3fooIJifEEvv", "foo<int, float>"},
      {"_Z3fooIJEEvv", "foo<>"},
      {"_Z3fooIPFivEEvv", "foo<int (*)()>"},
      {"_Z3fooIPFvifEEvv", "foo<void (*)(int, float)>"},
      {"_Z3fooIA16_fEvv", "foo<float [16]>"},
      {"_Z3fooIRA16_fEvv", "foo<float (&) [16]>"},
      {"_Z3fooISt5arrayIPcLm3EEEvv", "foo<std::array<char*, 3ul>>"},
      {"_Z3fooIXadL_Z3bariEEEvv", "foo<&bar>"},
      {"_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo"},
      {"_ZN1aIiE1bIfEEvv", "a<int>::b<float>"},
      // S_ stands for the first template or scope, S0_ for the second, and so on.
      {"_ZN1a1bINS_1cEEEvv", "a::b<a::c>"},
      {"_Z3fooIN1a1bENS0_1cES1_EvT_", "foo<a::b, a::c, a::b>"},
      {"_Z1fIZ1gvEUliE_EvT_", "f<g()::{lambda(int)#1}>"},
      {"_Z1fIZ1gvEUlvE0_EvT_", "f<g()::{lambda()#2}>"},
      {"_Z1fIUlvE_EvT_", "f<{lambda()#1}>"},
      {"_ZZ1gvENKUlvE_clEv", "g()::{lambda()#1}::operator()"},
      {"_Z3fooIDF16_DhE", "foo<_Float16, half>"},
      {"_ZN1a3fooB5cxx11Ev", "a::foo"},
      {"_Z3fooILf40000000ELd3ff8000000000000EEvv",
       "foo<(float)[40000000], (double)[3ff8000000000000]>"},
      {"_Z3fooILc97ELDn0EDnEvv", "foo<(char)97, (decltype(nullptr))0, decltype(nullptr)>"},
  };
  for (const auto& [mangled, canonical] : kNames)
    EXPECT_EQ(Canonical(mangled), canonical) << mangled;
}

TEST(ItaniumParser, RefusesWhatIsNone) {
  for (const char* text : {"_Z", "_ZN", "_Z99foo", "_Z3fooILi", "_Z3fooIS9_EvT_", "_Z3foo !",
                           "_ZNE", "_Z3fooILi4", "_ZS_", "_ZT_", "_Z0v", "_Z3fooIXE",
                           "_Z18446744073709551616foo", "_ZStC", "_ZStD", "_ZZ1fvEC"}) {
    EXPECT_EQ(Canonical(text), "(none)") << text;
  }
}

TEST(TextParser, ReadsEveryPrintersForms) {
  const std::pair<const char*, const char*> kNames[] = {
      {"foo", "foo"},
      {"foo()", "foo"},
      {"void foo<4, true, -1l, 128u>(int, float const*)", "foo<4, true, -1l, 128u>"},
      {"void foo<(int)4, (bool)1, (long)-1, (unsigned int)128>(T1 *)", "foo<4, true, -1l, 128u>"},
      {"void a::<unnamed>::foo<int>(int)", "a::(anonymous namespace)::foo<int>"},
      {"void (anonymous namespace)::foo<int>(int)", "(anonymous namespace)::foo<int>"},
      {"std::enable_if<(((8)>(0)))&&a::b<c>::d, void>::type n::foo<c, 8>(c*)", "n::foo<c, 8>"},
      {"foo<(a::b)0>()", "foo<(a::b)0>"},
      {"foo<((anonymous namespace)::b)0>()", "foo<((anonymous namespace)::b)0>"},
      {"foo<const char *, float &>()", "foo<char const*, float&>"},
      {"foo<void (*)(int)>()", "foo<void (*)(int)>"},
      {"foo<int (float)>()", "foo<int (float)>"},
      {"foo<unsigned long long, signed char, long>()",
       "foo<unsigned long long, signed char, long>"},
      {"foo<&bar, &(void ns::baz<int>(int))>()", "foo<&bar, &ns::baz<int>>"},
      {"foo<a(int)::{lambda(float)#2}>()", "foo<a()::{lambda(float)#2}>"},
      {"foo<a(int)::[lambda(float) (instance 2)]>()", "foo<a()::{lambda(float)#2}>"},
      {"foo<float (&) [16]>()", "foo<float (&) [16]>"},
      {"foo<>()", "foo<>"},
      {"foo<(sizeof...(T)) + 1, int>()", "foo<(sizeof...(T)) + 1, int>"},
      {"void foo<int>(int) [clone .constprop.0]", "foo<int>"},
      // What c++filt prints of the mangled names above.
      {"void foo<(float)[40000000], (double)[3ff8000000000000]>()",
       "foo<(float)[40000000], (double)[3ff8000000000000]>"},
      {"void foo<(char)97, (decltype(nullptr))0, decltype(nullptr)>()",
       "foo<(char)97, (decltype(nullptr))0, decltype(nullptr)>"},
      {"foo<unsigned, unsigned*, long int, long long int, unsigned short int>()",
       "foo<unsigned int, unsigned int*, long, long long, unsigned short>"},
      {"foo<(unsigned)3, (unsigned long int)3>()", "foo<3u, 3ul>"},
      {"{anonymous}::foo<ns::{anonymous}::x>()",
       "(anonymous namespace)::foo<ns::(anonymous namespace)::x>"},
  };
  for (const auto& [text, canonical] : kNames) EXPECT_EQ(Canonical(text), canonical) << text;
}

TEST(TextParser, RefusesWhatIsNone) {
  for (const char* text :
       {"", "<", ">", "()", "1foo", "foo<", "::", "foo::", "a b c !", "*", "{lambda", "[x"}) {
    EXPECT_EQ(Canonical(text), "(none)") << text;
  }
}

std::vector<std::string> WordsOf(std::string_view identifier) {
  const WordList list(identifier);
  std::vector<std::string> words;
  for (const Word& word : list.words()) {
    EXPECT_EQ(word.hash, HashOf(word.text));
    words.emplace_back(word.text);
  }
  return words;
}

TEST(Words, FollowUnderscoresAndCase) {
  EXPECT_THAT(WordsOf("flash_fwd_splitkv_kernel"),
              ElementsAre("flash", "fwd", "splitkv", "kernel"));
  EXPECT_THAT(WordsOf("fusedQKNormRopeKernel"),
              ElementsAre("fused", "qk", "norm", "rope", "kernel"));
  EXPECT_THAT(WordsOf("MainloopSm90TmaGmma"), ElementsAre("mainloop", "sm90", "tma", "gmma"));
  EXPECT_THAT(WordsOf("KernelCooperativeFP8Blockwise"),
              ElementsAre("kernel", "cooperative", "fp8", "blockwise"));
  EXPECT_THAT(WordsOf("_w8a8_block_fp8_matmul"),
              ElementsAre("_", "w8a8", "block", "fp8", "matmul"));
  EXPECT_THAT(WordsOf("BatchDecodeWithPagedKVCacheKernel"),
              ElementsAre("batch", "decode", "with", "paged", "kv", "cache", "kernel"));
  EXPECT_THAT(WordsOf(""), ElementsAre());
}

TEST(Words, ArePatternsUnit) {
  EXPECT_TRUE(WordPattern("* gemm *").Matches(WordList("my_gemm_kernel").words()));
  EXPECT_TRUE(WordPattern("* gemm *").Matches(WordList("gemm").words()));
  EXPECT_FALSE(WordPattern("* gemm *").Matches(WordList("gemma_rmsnorm_kernel").words()));
  EXPECT_FALSE(WordPattern("gemm").Matches(WordList("gemm_kernel").words()));
  EXPECT_TRUE(WordPattern("* silu|gelu * quant").Matches(WordList("a_gelu_and_mul_quant").words()));
  EXPECT_TRUE(WordPattern("sm% gemm").Matches(WordList("sm100_gemm").words()));
  EXPECT_FALSE(WordPattern("sm% gemm").Matches(WordList("xsm100_gemm").words()));
}

bool Matches(const std::string& pattern, const std::string& text) {
  std::string error;
  const auto compiled = Pattern::Compile(pattern, &error);
  EXPECT_EQ(error, "") << pattern;
  const ParsedName name(text);
  WordCache words;
  Captures captures;
  return name.root() != nullptr && compiled->Match(*name.root(), words, &captures);
}

TEST(Pattern, MatchesStructureNotText) {
  EXPECT_TRUE(Matches("a::f", "void a::f<int>(int)"));
  EXPECT_FALSE(Matches("f", "void a::f<int>(int)"));
  EXPECT_TRUE(Matches("**::f", "void a::b::f<int>(int)"));
  EXPECT_TRUE(Matches("**::f", "f()"));
  EXPECT_FALSE(Matches("a::f<>", "void a::f<int>(int)"));
  EXPECT_TRUE(Matches("a::f<..., int>", "void a::f<1, 2, int>(int)"));
  EXPECT_FALSE(Matches("a::f<..., int>", "void a::f<1, int, 2>(int)"));
  EXPECT_TRUE(Matches("f<#, @>", "void f<1, int>(int)"));
  EXPECT_FALSE(Matches("f<#>", "void f<true>(int)"));
  EXPECT_FALSE(Matches("f<#>", "void f<int>(int)"));
  EXPECT_TRUE(Matches("f<(a::b), (a::b)1>", "void f<(a::b)0, (a::b)1>(int)"));
  EXPECT_FALSE(Matches("f<(a::b)1>", "void f<(a::b)0>(int)"));
  EXPECT_TRUE(Matches("f<g<$x>::h>", "void f<g<7>::h>(int)"));
  EXPECT_FALSE(Matches("**::{* gemm *}", "void f<my_gemm>(my_gemm)"));
}

// What the index asks for is read from the text alone; without it a pattern would never be tried.
TEST(Pattern, SaysWhatItRequiresWithoutBeingCompiled) {
  using Kind = Pattern::Requirement::Kind;
  const auto required = [](const char* text) { return Pattern::RequirementOf(text); };
  for (const char* text :
       {"f", "a::f<b::g<1>, (c::d)1>", " $x: **::f ", "{* x *}::f <$t>", "a<b>::f"}) {
    EXPECT_EQ(required(text).kind, Kind::kIdentifier) << text;
    EXPECT_THAT(required(text).hashes, ElementsAre(HashOf("f"))) << text;
  }
  EXPECT_THAT(required("**::{* x|y|z gemm|gemv *}<{f}>").hashes,
              ElementsAre(HashOf("gemm"), HashOf("gemv")));
  EXPECT_EQ(required("a::{sm% *}").kind, Kind::kOutermostScope);
  EXPECT_THAT(required("a<1>::b::{*}").hashes, ElementsAre(HashOf("a")));
  for (const char* text : {"**::{*}", "{*}", "a::**", "a::[lambda]", "{x y}::{%}"}) {
    EXPECT_EQ(required(text).kind, Kind::kNothing) << text;
  }
}

TEST(Pattern, CompiledLaterMatchesAsWell) {
  const auto pattern = Pattern::Later("a::f<$n, ...>");
  const ParsedName name("void a::f<128u, float>(int)"), other("void b::f<128u>(int)");
  WordCache words;
  Captures captures;
  EXPECT_FALSE(pattern->Match(*other.root(), words, &captures));
  ASSERT_TRUE(pattern->Match(*name.root(), words, &captures));
  EXPECT_EQ(captures[0].second->text, "128");
  EXPECT_THAT(pattern->capture_names(), ElementsAre("n"));
}

TEST(Pattern, CapturesNodes) {
  std::string error;
  const auto pattern = Pattern::Compile("f<$n, $t:@, ...>", &error);
  ASSERT_NE(pattern, nullptr) << error;
  EXPECT_THAT(pattern->capture_names(), ElementsAre("n", "t"));
  const ParsedName name("void f<128u, c10::Half, true>(int)");
  WordCache words;
  Captures captures;
  ASSERT_TRUE(pattern->Match(*name.root(), words, &captures));
  ASSERT_EQ(captures.size(), 2u);
  EXPECT_EQ(captures[0].first, "n");
  EXPECT_EQ(captures[0].second->text, "128");
  EXPECT_EQ(PrintCanonical(*captures[1].second), "c10::Half");
}

// A try that fails leaves nothing behind.
TEST(Pattern, CapturesOfTheTryThatMatched) {
  std::string error;
  const auto pattern = Pattern::Compile("f<..., $a, 7, ...>", &error);
  ASSERT_NE(pattern, nullptr) << error;
  const ParsedName name("f<1, 2, 3, 7>");
  WordCache words;
  Captures captures;
  ASSERT_TRUE(pattern->Match(*name.root(), words, &captures));
  ASSERT_EQ(captures.size(), 1u);
  EXPECT_EQ(captures[0].second->text, "3");
}

// What PatternIndex finds is what trying every pattern in order finds.
TEST(PatternIndex, FindsWhatTryingEveryPatternFinds) {
  const char* const kPatterns[] = {
      "f",         "**::f",         "a::**",          "a::{* gemm *}", "{* gemm|gemv *}",
      "{gemv% *}", "a::{sm% *}<#>", "**::{* kernel}", "a::**::{*}",    "{x y|z *}<...>",
      "f<int>",    "[lambda]",      "**::{sm90 * f}", "{*}",           "a::f<$t, ...>",
  };
  std::vector<std::unique_ptr<const Pattern>> patterns;
  PatternIndex index;
  for (const char* text : kPatterns) {
    std::string error;
    patterns.push_back(Pattern::Compile(text, &error));
    ASSERT_NE(patterns.back(), nullptr) << error;
    index.Add(*patterns.back(),
              (patterns.size() - 1) / 2);  // two patterns an entry
  }
  for (const char* text : {"f", "f<int>()", "a::f<float, 1>()", "a::b::f()", "a::my_gemm<1>()",
                           "gemv2T_kernel<1>()", "a::sm90_f<4>()", "x_z_kernel<>()",
                           "void a::g<f>(f)", "a::{unnamed type#1}::f()", "unknown"}) {
    const ParsedName name(text);
    ASSERT_NE(name.root(), nullptr) << text;
    WordCache words;
    std::vector<size_t> expected, found;
    for (size_t i = 0; i < patterns.size(); ++i) {
      Captures captures;
      if (!patterns[i]->Match(*name.root(), words, &captures)) continue;
      if (expected.empty() || expected.back() != i / 2) expected.push_back(i / 2);
    }
    EXPECT_FALSE(index.FirstMatch(*name.root(), words, [&](size_t entry, const Captures&) {
      found.push_back(entry);
      return false;
    }));
    EXPECT_EQ(found, expected) << text;
  }
}

TEST(Pattern, SaysWhatIsWrong) {
  for (const char* text : {"", "f<", "f<a", "{a", "f<$>", "f<(a>", "a::", "5", "f>"}) {
    std::string error;
    EXPECT_EQ(Pattern::Compile(text, &error), nullptr) << text;
    EXPECT_NE(error, "") << text;
  }
}

}  // namespace
}  // namespace hotproof::catalog
