#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "cli/render/columns.h"
#include "cli/render/json.h"
#include "cli/render/printable.h"
#include "cli/render/table.h"
#include "proto/report.pb.h"

namespace hotproof::cli::render {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

report::Report Example() {
  report::Report report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    phase: "steady"
    processes { pid: 7 name: "app" verdict: "COMPLETE: all 3 kernel launches were recorded" coverage: FULL }
    gemms { n: 34816 k: 5120 path: "flashinfer" kernel: "a_very_long_kernel_name_that_gives_way_on_narrow_terminals"
            launches: 12345 time_ns: 9007199254740991 exclusive_time_ns: 81200000 share: 0.5 provenance: "name" }
    gemms { m: 8 n: 1 k: 1 path: "custom" kernel: "k" launches: 0 warmup_launches: 2 }
  )",
                                                            &report));
  return report;
}

TEST(Json, CountsAreNumbersAndEveryFieldIsPrinted) {
  const std::string json = ToJson(Example(), true);
  EXPECT_THAT(json, HasSubstr("\"launches\":12345"));
  EXPECT_THAT(json, HasSubstr("\"warmupLaunches\":0"));
  EXPECT_THAT(json, HasSubstr("\"timeNs\":9007199254740991")) << "exact up to 2^53 - 1";
  EXPECT_THAT(json, HasSubstr("\"problems\":[]"));
}

TEST(Json, IsUtf8WhateverTheNamesAre) {
  report::Report report;
  report.add_processes()->set_name("a\xff\xc3\xa9");
  testing::internal::CaptureStderr();
  const std::string json = ToJson(report, true);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(json, HasSubstr("\"name\":\"a\xEF\xBF\xBD\xc3\xa9\""));
}

TEST(Printable, IsOneLineThatNoTerminalObeys) {
  EXPECT_EQ(Printable("x\nPASS\r\t\x1b[31m\x7f"), "x PASS  ?[31m?");
  EXPECT_EQ(Printable("\xc2\x9b" "31m \xc2\xa0"), "?31m \xc2\xa0") << "CSI, and a space that is none";
  EXPECT_EQ(Printable("a\u2028b\u202ec\u2066d"), "a?b?c?d") << "ends of lines, and what turns them around";
  EXPECT_EQ(Printable("\u2027\u202f\u2065\u206a"), "\u2027\u202f\u2065\u206a");
  EXPECT_EQ(Printable("gr\xc3\xbc\xc3"), "gr\xc3\xbc\xEF\xBF\xBD");
}

TEST(Table, ShowsNamesOnOneLine) {
  report::Report report = Example();
  report.mutable_processes(0)->set_name("x\nPASS: 1 check");
  report.mutable_gemms(0)->set_kernel("k\x1b[31m");
  const std::string table = ToTable(report, {.width = 0, .colours = false});
  EXPECT_THAT(table, HasSubstr("x PASS: 1 check"));
  EXPECT_THAT(table, HasSubstr("k?[31m"));
  EXPECT_THAT(table, Not(HasSubstr("\x1b")));
}

TEST(Json, UnknownDimsAreAbsentNotZero) {
  const std::string json = ToJson(Example(), true);
  const std::string first =
      json.substr(json.find("flashinfer"), json.find("custom") - json.find("flashinfer"));
  EXPECT_THAT(first, Not(HasSubstr("\"m\":")));
  EXPECT_THAT(first, HasSubstr("\"n\":34816"));
  EXPECT_THAT(json, HasSubstr("\"m\":8"));
}

TEST(Table, FitsTheWidthAndKeepsWhatMatters) {
  for (const int width : {200, 120, 80, 60}) {
    const std::string table = ToTable(Example(), {.width = width, .colours = false});
    size_t at = 0;
    while (at < table.size()) {
      const size_t end = table.find('\n', at);
      EXPECT_LE(end - at, static_cast<size_t>(width)) << table;
      at = end + 1;
    }
    EXPECT_THAT(table, HasSubstr("34816")) << width;
    EXPECT_THAT(table, HasSubstr("12,345")) << width;
    EXPECT_THAT(table, HasSubstr("81.200")) << width;
    EXPECT_THAT(table, HasSubstr("50.0%")) << width;
  }
}

TEST(Table, WithoutAWidthNothingIsCutOrLeftOut) {
  const std::string table = ToTable(Example(), {.width = 0, .colours = false});
  EXPECT_THAT(table, HasSubstr("a_very_long_kernel_name_that_gives_way_on_narrow_terminals\n"))
      << "whole, and the last of its line";
  for (const char* title : {"operands", "shape from", "warm-up"}) {
    EXPECT_THAT(table, HasSubstr(title));
  }
}

TEST(Table, SaysWhatItLeavesOut) {
  EXPECT_THAT(ToTable(Example(), {}), HasSubstr("1 more ran or were captured in warm-up only"));
}

TEST(Table, ATimedColumnIsThereWhereItDiffers) {
  report::Report report = Example();
  report.mutable_gemms(0)->set_timed_launches(12345);
  report.mutable_gemms(0)->set_median_ns(51970);
  report.mutable_gemms(0)->set_p99_ns(3129000);
  const std::string whole = ToTable(report, {.width = 0, .colours = false});
  EXPECT_THAT(whole, Not(HasSubstr("timed")));
  EXPECT_THAT(whole, HasSubstr("median us")) << "of one launch: in us, whatever sums are in";
  EXPECT_THAT(whole, HasSubstr(" 51.97  3129.00 "));
  report.mutable_gemms(0)->set_timed_launches(12000);
  const std::string part = ToTable(report, {.width = 0, .colours = false});
  EXPECT_THAT(part, HasSubstr(" 12,345  12,000 "));
  EXPECT_THAT(part, HasSubstr("times are of the launches in 'timed' alone"));
  report.mutable_gemms(0)->set_timed_launches(0);
  EXPECT_THAT(ToTable(report, {.width = 0, .colours = false}), Not(HasSubstr("timed")))
      << "none was: there are no times";
}

TEST(Table, ALineOfTextStandsAboveTheTables) {
  report::Report report = Example();
  EXPECT_TRUE(ToTable(report, {.width = 80, .colours = false}).starts_with("Processes\n"));
  report.set_added("2 runs are added up");
  EXPECT_TRUE(ToTable(report, {.width = 80, .colours = false})
                  .starts_with("2 runs are added up\n\nProcesses\n"));
}

TEST(Table, Differences) {
  report::Comparison comparison;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    sides { label: "A" run: "old" state: LOWER_BOUND caveats: "first" caveats: "second" }
    gemms { n: 1 k: 2 path: "x" before_launches: 3 after_launches: 4 difference_ns: -2500000 median_ratio: 1.184
            notes: "A: mean 2.00 us" notes: "B: mean 61.10 us" before_timed_launches: 3 after_timed_launches: 4 }
    gemms { n: 1 k: 3 path: "x" before_launches: 3 after_launches: 4 difference_ns: 1000000
            before_timed_launches: 3 after_timed_launches: 4 }
  )",
                                                            &comparison));
  const std::string table = ToTable(comparison, {.width = 0, .colours = false});
  EXPECT_THAT(table, HasSubstr("A  old  LOWER BOUND"));
  EXPECT_THAT(table, HasSubstr("\n    first\n    second\n"));
  EXPECT_THAT(table, HasSubstr("B-A ms"));
  EXPECT_THAT(table, HasSubstr("1.18x  -2.500  A: mean 2.00 us, B: mean 61.10 us"));
  EXPECT_THAT(table, HasSubstr("+1.000"));
  EXPECT_THAT(table, HasSubstr("-1.500")) << "the total";
  comparison.mutable_gemms(1)->clear_difference_ns();
  EXPECT_THAT(ToTable(comparison, {.width = 0, .colours = false}), Not(HasSubstr("-2.500\n")))
      << "no total of a part";
}

report::Comparison Unequal(const std::string& after) {
  report::Comparison comparison;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(sides { label: "A" run: "old" state: COMPLETE launches: 12 }
         gemms { path: "x" before_launches: 12 before_timed_launches: 12 before_time_ns: 2e6 before_median_ns: 5000 )" +
          after,
      &comparison));
  return comparison;
}

TEST(Table, WhatIsNotKnownIsNoZero) {
  const auto lines = [](const std::string& after) {
    return ToTable(Unequal(after), {.width = 0, .colours = false});
  };
  const std::string unknown =
      lines("} gemms { path: 'y' after_launches: 3 after_at_least: true after_timed_launches: 3 "
            "before_launches: 0 after_time_ns: 1e6 after_median_ns: 7000 } "
            "sides { label: 'B' run: 'cut' state: NOT_COLLECTED }");
  EXPECT_THAT(unknown, HasSubstr("B  cut  NOT COLLECTED"));
  EXPECT_THAT(unknown, HasSubstr("kernel launches ?\n"));
  EXPECT_THAT(unknown, HasSubstr("  x             12           ?  5.00     ?  2.000      ?\n"));
  EXPECT_THAT(unknown, HasSubstr("  y              0        >= 3     -  7.00      -  1.000\n"));
  EXPECT_THAT(unknown, HasSubstr("                12        >= 3              2.000  1.000\n"));
  EXPECT_THAT(unknown, Not(HasSubstr("timed")));
}

TEST(Table, ComparedTimesOfAPartAreSaidToBe) {
  const auto at_120 = [](const std::string& after) {
    return ToTable(Unequal(after + " }"), {.width = 120, .colours = false});
  };
  EXPECT_THAT(at_120("after_launches: 12 after_timed_launches: 12"), Not(HasSubstr("timed")));
  const std::string part = at_120(
      "after_launches: 12 after_timed_launches: 4 after_time_ns: 1e6 notes: 'A: mean 61.10 us' } "
      "gemms { path: 'y' before_launches: 2 before_timed_launches: 2 after_launches: 2");
  EXPECT_THAT(part, HasSubstr("B launches  B timed"));
  EXPECT_THAT(part, Not(HasSubstr("A timed")));
  EXPECT_THAT(part, HasSubstr("  x             12          12        4 "));
  EXPECT_THAT(part, HasSubstr("  y              2           2        0 "));
  EXPECT_THAT(part, HasSubstr("                14          14        4 ")) << "the total";
  EXPECT_THAT(part, HasSubstr("times of B are of the launches in 'B timed' alone"));
}

TEST(Table, AnEmptyTableSaysNothingRanOnlyWhereThatIsKnown) {
  report::Comparison comparison;
  EXPECT_THAT(ToTable(comparison, {}), Not(HasSubstr("ran in either")));
  EXPECT_THAT(ToTable(comparison, {}), HasSubstr("no GEMM was seen in either"));
  comparison.set_counts_exact(true);
  EXPECT_THAT(ToTable(comparison, {}), HasSubstr("no GEMM ran in either"));
  EXPECT_THAT(ToTable(comparison, {}), HasSubstr("no kernel ran in either"));
}

TEST(Table, ColoursOnlyWhenAsked) {
  EXPECT_THAT(ToTable(Example(), {.width = 100, .colours = false}), Not(HasSubstr("\033")));
  EXPECT_THAT(ToTable(Example(), {.width = 100, .colours = true}),
              HasSubstr("\033[32mCOMPLETE\033[0m"));
}

TEST(Columns, ShortenCountsCharacters) {
  EXPECT_EQ(Shorten("abcdef", 6), "abcdef");
  EXPECT_EQ(Shorten("abcdefg", 6), "abc...");
  EXPECT_EQ(DisplayWidth("µs"), 2);
  EXPECT_EQ(Shorten("µµµµµµµ", 6), "µµµ...");
}

TEST(Columns, WrapBreaksAtSpaces) {
  EXPECT_THAT(Wrap("one two three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(Wrap("unbreakable", 4), ElementsAre("unbreakable"));
}

TEST(Columns, DropsTheLeastWantedFirst) {
  std::vector<Column> columns = {{"key", {"value"}, false, false, 0},
                                 {"late", {"xxxxxxxxxx"}, false, false, 2},
                                 {"early", {"xxxxxxxxxx"}, false, false, 1}};
  Fit(columns, 18);
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[1].title, "late");
}

}  // namespace
}  // namespace hotproof::cli::render
