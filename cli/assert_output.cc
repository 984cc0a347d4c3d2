#include "cli/assert_output.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/render/columns.h"
#include "cli/render/printable.h"

namespace hotproof::cli {
namespace {

using report::AssertReport;
using report::Check;

constexpr int kNameWidth = 160;

std::string VerdictName(AssertReport::Verdict verdict) {
  return AssertReport::Verdict_Name(verdict);
}

std::string VerdictText(AssertReport::Verdict verdict, bool colours) {
  if (!colours) return VerdictName(verdict);
  const char* code = verdict == AssertReport::PASS   ? "32"
                     : verdict == AssertReport::FAIL ? "31"
                                                     : "33";
  return absl::StrCat("\033[", code, "m", VerdictName(verdict), "\033[0m");
}

std::string Subject(const Check& check) {
  if (check.pid() != 0) return absl::StrCat("pid ", check.pid(), " ", check.process());
  return check.process();
}

std::string Got(const Check& check) {
  if (!check.has_steady_launches() && !check.has_unphased_launches()) return check.got();
  const std::string launches =
      check.has_steady_launches()
          ? absl::StrFormat("%.0f steady / %.0f warm-up", check.steady_launches(),
                            check.warmup_launches())
          : absl::StrFormat("%.0f, unphased", check.unphased_launches());
  return absl::StrCat(check.got(), " (launches: ", launches, " / ",
                      absl::StrFormat("%.0f captured", check.captured_nodes()), ")");
}

// What ran, most like what was asked for first; some of it may be just that.
std::string Ran(const Check& check, const report::Near& near) {
  const std::string launches =
      check.has_unphased_launches()
          ? absl::StrFormat("%.0f", near.launches())
          : absl::StrFormat("%.0f steady / %.0f warm-up", near.launches(), near.warmup_launches());
  return absl::StrCat("ran: ", launches, "  ", render::Shorten(near.name(), kNameWidth));
}

// What stands under a check's line.
std::vector<std::string> Details(const Check& check) {
  std::vector<std::string> details;
  if (!check.advice().empty()) details.push_back("what to do: " + check.advice());
  for (const report::Near& near : check.near()) details.push_back(Ran(check, near));
  for (std::string& detail : details) detail = render::Printable(detail);
  return details;
}

std::string OneLine(const Check& check) {
  std::string line =
      absl::StrCat(check.expectation(), ": expected ", check.expected(), ", got ", Got(check));
  if (!Subject(check).empty()) absl::StrAppend(&line, " in ", Subject(check));
  if (!check.reason().empty()) absl::StrAppend(&line, "; ", check.reason());
  return render::Printable(line);
}

// Of lines that are fit to be shown.
std::string Xml(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&apos;"}});
}

// A message is one line wherever it is shown.
std::string XmlLine(const std::string& text) { return Xml(render::Printable(text)); }

struct Suite {
  int tests = 0, failures = 0, errors = 0;
  double seconds = 0;
  std::string content;  // properties, test cases, system-out
};

std::string TestCase(const std::string& name, double seconds) {
  return absl::StrFormat("    <testcase classname=\"hotproof.assert\" name=\"%s\" time=\"%.3f\"",
                         XmlLine(name), seconds);
}

std::string Document(const Suite& suite) {
  const std::string attributes = absl::StrFormat(
      "name=\"hotproof assert\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"0\" "
      "time=\"%.3f\"",
      suite.tests, suite.failures, suite.errors, suite.seconds);
  return absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites ", attributes,
                      ">\n  <testsuite ", attributes, ">\n", suite.content,
                      "  </testsuite>\n</testsuites>\n");
}

std::string GithubEscape(const std::string& text) {
  return absl::StrReplaceAll(text, {{"%", "%25"}, {"\r", "%0D"}, {"\n", "%0A"}});
}

}  // namespace

std::string AssertAsText(const AssertReport& report, bool colours) {
  std::string text;
  for (const Check& check : report.checks()) {
    absl::StrAppend(&text, VerdictText(check.verdict(), colours), "  ", OneLine(check), "\n");
    for (const std::string& detail : Details(check)) absl::StrAppend(&text, "      ", detail, "\n");
  }
  for (const std::string& note : report.notes())
    absl::StrAppend(&text, "note  ", render::Printable(note), "\n");
  const auto so = std::count_if(report.checks().begin(), report.checks().end(),
                                [&](const Check& c) { return c.verdict() == report.verdict(); });
  absl::StrAppend(&text, VerdictText(report.verdict(), colours), ": ");
  if (so != report.checks_size()) absl::StrAppend(&text, so, " of ");
  absl::StrAppend(&text, report.checks_size(), report.checks_size() == 1 ? " check" : " checks",
                  ", phase ", report.phase(), "\n");
  return text;
}

std::string AssertAsGithub(const AssertReport& report) {
  std::string text;
  for (const Check& check : report.checks()) {
    if (check.verdict() == AssertReport::PASS) continue;
    const char* level = check.verdict() == AssertReport::FAIL ? "error" : "warning";
    std::string lines = OneLine(check);
    for (const std::string& detail : Details(check)) absl::StrAppend(&lines, "\n", detail);
    absl::StrAppend(&text, "::", level, " title=hotproof ", VerdictName(check.verdict()),
                    "::", GithubEscape(lines), "\n");
  }
  for (const std::string& warning : report.warnings())
    absl::StrAppend(&text, "::warning title=hotproof::", GithubEscape(render::Printable(warning)),
                    "\n");
  return text + AssertAsText(report, false);
}

std::string ErrorAsGithub(const std::string& what) {
  return absl::StrCat("::error title=hotproof BAD_INPUT::", GithubEscape(render::Printable(what)),
                      "\n");
}

std::string AssertAsJunit(const AssertReport& report, double seconds) {
  Suite suite;
  suite.tests = report.checks_size();
  suite.seconds = seconds;
  if (report.notes_size() > 0) {
    absl::StrAppend(&suite.content, "    <properties>\n");
    for (const std::string& note : report.notes()) {
      absl::StrAppend(&suite.content, "      <property name=\"note\" value=\"", XmlLine(note),
                      "\"/>\n");
    }
    absl::StrAppend(&suite.content, "    </properties>\n");
  }
  for (const Check& check : report.checks()) {
    // All are judged in one reading of the traces: each has its part of the time.
    absl::StrAppend(&suite.content,
                    TestCase(absl::StrCat(check.expectation(), " ", check.expected(),
                                          Subject(check).empty() ? "" : " in ", Subject(check)),
                             seconds / suite.tests));
    if (check.verdict() == AssertReport::PASS) {
      absl::StrAppend(&suite.content, "/>\n");
      continue;
    }
    const bool failed = check.verdict() == AssertReport::FAIL;
    ++(failed ? suite.failures : suite.errors);
    const char* element = failed ? "failure" : "error";
    absl::StrAppend(&suite.content, ">\n      <", element, " type=\"", VerdictName(check.verdict()),
                    "\" message=\"", XmlLine(OneLine(check)), "\">",
                    Xml(absl::StrJoin(Details(check), "\n")), "</", element,
                    ">\n    </testcase>\n");
  }
  absl::StrAppend(&suite.content, "    <system-out>", Xml(AssertAsText(report, false)),
                  "</system-out>\n");
  return Document(suite);
}

std::string ErrorAsJunit(const std::string& what) {
  return Document(
      {.tests = 1,
       .failures = 0,
       .errors = 1,
       .seconds = 0,
       .content = absl::StrCat(TestCase("input", 0), ">\n      <error type=\"BAD_INPUT\" ",
                               "message=\"", XmlLine(what), "\"/>\n    </testcase>\n")});
}

}  // namespace hotproof::cli
