// Names nobody would give a kernel: endless, deep, torn, built to blow up. The catalogue must
// answer (usually that it knows nothing), with work linear in the length.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <random>
#include <thread>

#include "catalog/classifier.h"
#include "tests/catalog/corpus.h"
#include "tests/catalog/work_count.h"

namespace hotproof::catalog {
namespace {

const Classifier& TheClassifier() {
  static const auto* classifier = new absl::StatusOr<Classifier>(Classifier::Create());
  return **classifier;
}

std::string Repeat(std::string_view text, size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += text;
  return out;
}

// As substitutions are numbered.
std::string Base36(int number) {
  std::string digits;
  do {
    digits.insert(0, 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 36]);
    number /= 36;
  } while (number > 0);
  return digits;
}

struct Shape {
  const char* name;
  std::function<std::string(size_t bytes)> make;
};

// Each about `bytes` long.
const Shape kShapes[] = {
    {"deep template", [](size_t n) { return Repeat("a<", n / 2) + Repeat(">", n / 2); }},
    {"deep template, never closed", [](size_t n) { return Repeat("a<", n); }},
    {"deep parentheses",
     [](size_t n) { return "f<" + Repeat("(", n / 2) + Repeat(")", n / 2) + ">"; }},
    {"parentheses, never closed", [](size_t n) { return Repeat("(", n); }},
    {"angles", [](size_t n) { return Repeat("<", n); }},
    {"closing angles", [](size_t n) { return Repeat(">", n); }},
    {"angles and spaces", [](size_t n) { return Repeat("< ", n); }},
    {"mixed brackets", [](size_t n) { return Repeat("<([{", n); }},
    {"brackets crossed", [](size_t n) { return Repeat("<(>)", n); }},
    {"operators", [](size_t n) { return Repeat("operator<", n); }},
    {"scopes", [](size_t n) { return Repeat("a::", n) + "f"; }},
    {"scopes with arguments", [](size_t n) { return Repeat("a<1>::", n) + "f"; }},
    {"one identifier", [](size_t n) { return Repeat("a", n); }},
    {"words", [](size_t n) { return Repeat("gemm_", n); }},
    {"many arguments", [](size_t n) { return "f<" + Repeat("1, ", n) + "2>"; }},
    {"many types",
     [](size_t n) { return "cutlass::device_kernel<a<" + Repeat("b<c>, ", n) + "d>>"; }},
    {"result types", [](size_t n) { return Repeat("int ", n) + "f()"; }},
    {"enable_if", [](size_t n) { return "std::enable_if<(" + Repeat(">::type ", n); }},
    {"lambdas",
     [](size_t n) {
       return "f<" + Repeat("g()::{lambda(int)#1}::operator()() const::", n) + "h>";
     }},
    {"unnamed", [](size_t n) { return Repeat("[lambda(", n); }},
    {"declarators", [](size_t n) { return "f<int" + Repeat("*&", n) + ">"; }},
    {"casts", [](size_t n) { return "f<" + Repeat("(int)", n) + "1>"; }},
    {"addresses", [](size_t n) { return "f<" + Repeat("&(", n) + ">"; }},
    {"digits", [](size_t n) { return "f<" + Repeat("9", n) + ">"; }},
    {"nvjet tokens", [](size_t n) { return "nvjet_sm90_tst_" + Repeat("128x", n); }},
    {"bmm elements", [](size_t n) { return "bmm_E4m3_" + Repeat("E4m3", n) + "_Fp32_t1x1x1"; }},
    {"xmma elements", [](size_t n) { return "sm90_xmma_gemm_" + Repeat("f32", n) + "_f32_f32"; }},
    {"bytes", [](size_t n) { return Repeat("\xff\x00\x80", n); }},
    {"mangled pointers", [](size_t n) { return "_Z1fI" + Repeat("P", n) + "iEvv"; }},
    {"mangled scopes", [](size_t n) { return "_ZN" + Repeat("1a", n) + "Ev"; }},
    {"mangled nesting", [](size_t n) { return "_Z1f" + Repeat("I1a", n); }},
    {"mangled locals", [](size_t n) { return "_Z" + Repeat("Z", n); }},
    {"mangled addresses", [](size_t n) { return "_Z1fI" + Repeat("XadL_Z1gI", n); }},
    {"mangled expressions", [](size_t n) { return "_Z1fIX" + Repeat("pl", n); }},
    {"mangled packs", [](size_t n) { return "_Z1fI" + Repeat("J", n); }},
    {"mangled functions", [](size_t n) { return "_Z1fI" + Repeat("F", n); }},
    {"mangled arguments", [](size_t n) { return "_Z1fI" + Repeat("Li1E", n) + "Evv"; }},
    {"mangled long identifier",
     [](size_t n) { return "_Z" + std::to_string(n) + Repeat("a", n).substr(0, n) + "v"; }},
    {"mangled identifiers again and again",
     [](size_t n) {
       return "_Z1fI" + std::to_string(n / 2) + Repeat("a", n / 2).substr(0, n / 2) +
              Repeat("S0_", n / 2) + "Evv";
     }},
    {"enable_if again and again",
     [](size_t n) { return Repeat("std::enable_if<a>::type ", n) + "!"; }},
    {"mangled pointers to pointers",
     [](size_t n) {
       std::string out = "_Z1fIPiPS_";
       for (int i = 0; out.size() < n; ++i) out += "PS" + Base36(i) + "_";
       return out + "Evv";
     }},
    {"mangled members of what doubles",
     [](size_t n) {
       std::string out = "_Z1fI1aIiE";
       int i = 1;
       for (; out.size() < n / 4; ++i) out += "S0_IS" + Base36(i) + "_S" + Base36(i) + "_E";
       while (out.size() < n) out += "MS" + Base36(std::min(i, 10)) + "_i";
       return out + "Evv";
     }},
    // Every argument doubles the one before: printed out, 2^n characters.
    {"mangled doubling",
     [](size_t n) {
       std::string out = "_Z1fI1aIiE";
       for (int i = 1; out.size() < n; ++i) {
         const std::string index = Base36(i);
         out += "S0_IS" + index + "_S" + index + "_E";
       }
       return out + "Evv";
     }},
};

uint64_t Work(const std::string& name) {
  const uint64_t before = WorkDone();
  TheClassifier().Classify(name);
  CanonicalName(name);
  return WorkDone() - before;
}

// Sixteen times the length may be sixteen times the work and an eighth more; with anything
// quadratic it comes near 256 times the work.
testing::AssertionResult IsLinear(const std::function<std::string(size_t)>& make) {
  Work(make(16 << 10));  // what is made once
  const uint64_t small = Work(make(16 << 10)), large = Work(make(256 << 10));
  if (small < 16 << 10) return testing::AssertionFailure() << "only " << small << " counted";
  if (large <= 18 * small) return testing::AssertionSuccess();
  return testing::AssertionFailure() << small << ", then " << large << ": "
                                     << static_cast<double>(large) / static_cast<double>(small);
}

TEST(Hostile, WorkIsCounted) {
  const std::string text(10000, 'x');
  uint64_t before = WorkDone();
  std::string copy = text;
  EXPECT_GE(WorkDone() - before, 10000u);
  before = WorkDone();
  for (char& c : copy) c = c == 'x' ? 'y' : 'z';
  EXPECT_GE(WorkDone() - before, 10000u);
  before = WorkDone();
  EXPECT_EQ(std::string_view(copy).find('x'), std::string::npos);
  EXPECT_GE(WorkDone() - before, 10000u);
}

TEST(Hostile, WorkIsLinearFrom16To256KiB) {
  for (const Shape& shape : kShapes) EXPECT_TRUE(IsLinear(shape.make)) << shape.name;
}

TEST(Hostile, RealLongNamesAreLinearToo) {
  const auto make = [](size_t bytes) {
    return "void deep_gemm::fp8_gemm_kernel_swapAB<34816u, 5120u, 64u, 16u, 128u, " +
           Repeat("ns::type<1, cute::tuple<cute::C<1>, cute::C<2> > >, ", bytes) + "int>(int)";
  };
  for (const size_t kib : {10, 64, 512}) {
    const auto answer = TheClassifier().Classify(make(kib << 10));
    EXPECT_EQ(answer.path, Path::kFlashInfer) << kib;
    EXPECT_EQ(answer.n, 34816);
    EXPECT_EQ(answer.k, 5120);
  }
  EXPECT_TRUE(IsLinear(make));
}

// What lies too deep in a name does not hide what its outside says.
TEST(Hostile, DepthDoesNotHideTheOutside) {
  const std::string name =
      "void deep_gemm::fp8_gemm_kernel_swapAB<34816u, 5120u, 64u, 16u, 128u, " +
      Repeat("a<", 20000) + Repeat(">", 10000) + ">(int)";
  EXPECT_EQ(TheClassifier().Classify(name).n, 34816);
}

// Tables and columns cut names without a sign. A generator's name is one identifier, so what is
// left looks whole: it may say less than the whole name then, nothing else.
TEST(Hostile, TornNamesOfGeneratorsSayNothingElse) {
  const Classifier& classifier = TheClassifier();
  size_t torn = 0;
  for (const std::string& name : AllNames()) {
    const KernelClass whole = classifier.Classify(name);
    if (whole.kind != Kind::kGemm || name.find_first_of("<(:") != std::string::npos) continue;
    if (whole.path != Path::kCublasLt && whole.path != Path::kFlashInfer) continue;
    for (size_t size = 1; size < name.size(); ++size) {
      const KernelClass part = classifier.Classify(name.substr(0, size));
      if (part.rule != whole.rule) continue;
      ++torn;
      for (const auto& [was, is] : {std::pair(&whole.a_dtype, &part.a_dtype),
                                    {&whole.b_dtype, &part.b_dtype},
                                    {&whole.scaling, &part.scaling},
                                    {&whole.tile, &part.tile},
                                    {&whole.arch, &part.arch}}) {
        EXPECT_TRUE(is->empty() || *is == *was) << name.substr(0, size) << " of " << name;
      }
    }
  }
  EXPECT_GT(torn, 5000u);
}

TEST(Hostile, TornNamesNeverCrashAndNeverBecomeFp8) {
  for (const std::string& name : AllNames()) {
    const auto whole = TheClassifier().Classify(name);
    const bool is_fp8_gemm =
        whole.kind == Kind::kGemm && (whole.a_dtype == "e4m3" || whole.a_dtype == "e5m2");
    if (whole.path == Path::kCustom) continue;  // a helper's name begins with its product's
    const size_t step = std::max<size_t>(1, name.size() / 64);
    for (size_t length = 0; length < name.size(); length += step) {
      const auto answer = TheClassifier().Classify(name.substr(0, length));
      if (!is_fp8_gemm && answer.kind == Kind::kGemm) {
        EXPECT_TRUE(answer.a_dtype != "e4m3" && answer.a_dtype != "e5m2") << name.substr(0, length);
      }
    }
  }
}

TEST(Hostile, RandomDamageNeverCrashes) {
  std::mt19937 random(20260101);
  const auto names = AllNames();
  const std::string alphabet = "<>()[]{}:,*& _0123456789abcINESTLZJXKPRuU\xff";
  for (int round = 0; round < 20000; ++round) {
    std::string name = names[random() % names.size()];
    for (size_t i = 0, damages = 1 + random() % 8; i < damages && !name.empty(); ++i) {
      const size_t at = random() % name.size();
      const char c = alphabet[random() % alphabet.size()];
      switch (random() % 3) {
        case 0:
          name[at] = c;
          break;
        case 1:
          name.insert(at, 1, c);
          break;
        default:
          name.erase(at, 1 + random() % 4);
      }
    }
    TheClassifier().Classify(name);
    CanonicalName(name);
  }
}

TEST(Hostile, ThreadsShareOneClassifier) {
  const auto names = AllNames();
  std::vector<KernelClass> expected;
  for (const std::string& name : names) expected.push_back(TheClassifier().Classify(name));
  std::vector<std::thread> threads;
  std::atomic<int> differences = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < names.size(); ++i) {
        const size_t at = (i * 7 + static_cast<size_t>(t) * 31) % names.size();
        const auto answer = TheClassifier().Classify(names[at]);
        if (answer.rule != expected[at].rule || answer.tile != expected[at].tile) ++differences;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(differences, 0);
}

}  // namespace
}  // namespace hotproof::catalog
