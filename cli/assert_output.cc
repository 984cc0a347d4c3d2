#include "cli/assert_output.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/render/columns.h"

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
  if (check.got() == "nothing" || check.process().empty()) return check.got();
  const std::string steady = check.has_steady_launches()
                                 ? absl::StrFormat("%.0f steady", check.steady_launches())
                                 : std::string("unphased");
  return absl::StrCat(check.got(), " (launches: ", steady, " / ",
                      absl::StrFormat("%.0f warm-up / %.0f captured", check.warmup_launches(),
                                      check.captured_nodes()),
                      ")");
}

std::string Near(const Check& check) {
  std::vector<std::string> names;
  for (const report::Near& near : check.near()) {
    names.push_back(absl::StrFormat("%s (%.0f / %.0f warm-up)",
                                    render::Shorten(near.name(), kNameWidth), near.launches(),
                                    near.warmup_launches()));
  }
  return absl::StrJoin(names, "; ");
}

std::string OneLine(const Check& check) {
  std::string line =
      absl::StrCat(check.expectation(), ": expected ", check.expected(), ", got ", Got(check));
  if (!Subject(check).empty()) absl::StrAppend(&line, " in ", Subject(check));
  if (!check.reason().empty()) absl::StrAppend(&line, "; ", check.reason());
  return line;
}

std::string Xml(const std::string& text) {
  std::string clean;
  for (const char c : text) {
    // XML 1.0 has no other control characters.
    clean += static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t' ? c : '?';
  }
  return absl::StrReplaceAll(
      clean, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&apos;"}});
}

std::string TestSuite(int tests, int failures, int errors, const std::string& cases) {
  return absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"hotproof assert\" tests=\"",
      tests, "\" failures=\"", failures, "\" errors=\"", errors, "\">\n", cases, "</testsuite>\n");
}

std::string GithubEscape(const std::string& text) {
  return absl::StrReplaceAll(text, {{"%", "%25"}, {"\r", "%0D"}, {"\n", "%0A"}});
}

}  // namespace

std::string AssertAsText(const AssertReport& report, bool colours) {
  std::string text;
  for (const Check& check : report.checks()) {
    absl::StrAppend(&text, VerdictText(check.verdict(), colours), "  ", OneLine(check), "\n");
    for (const report::Near& near : check.near()) {
      absl::StrAppend(
          &text, "      ran: ",
          absl::StrFormat("%.0f steady / %.0f warm-up  ", near.launches(), near.warmup_launches()),
          render::Shorten(near.name(), kNameWidth), "\n");
    }
  }
  for (const std::string& note : report.notes()) absl::StrAppend(&text, "note  ", note, "\n");
  absl::StrAppend(&text, VerdictText(report.verdict(), colours), ": ", report.checks_size(),
                  report.checks_size() == 1 ? " check" : " checks", ", phase ", report.phase(),
                  "\n");
  return text;
}

std::string AssertAsGithub(const AssertReport& report) {
  std::string text;
  for (const Check& check : report.checks()) {
    if (check.verdict() == AssertReport::PASS) continue;
    const char* level = check.verdict() == AssertReport::FAIL ? "error" : "warning";
    std::string line = OneLine(check);
    if (check.near_size() > 0) absl::StrAppend(&line, "\nran instead: ", Near(check));
    absl::StrAppend(&text, "::", level, " title=hotproof ", VerdictName(check.verdict()),
                    "::", GithubEscape(line), "\n");
  }
  return text + AssertAsText(report, false);
}

std::string AssertAsJunit(const AssertReport& report) {
  int failures = 0, errors = 0;
  std::string cases;
  for (const Check& check : report.checks()) {
    absl::StrAppend(&cases, "  <testcase classname=\"hotproof.assert\" name=\"",
                    Xml(absl::StrCat(check.expectation(), " ", check.expected(),
                                     Subject(check).empty() ? "" : " in ", Subject(check))),
                    "\"");
    if (check.verdict() == AssertReport::PASS) {
      absl::StrAppend(&cases, "/>\n");
      continue;
    }
    const bool failed = check.verdict() == AssertReport::FAIL;
    ++(failed ? failures : errors);
    const char* element = failed ? "failure" : "error";
    absl::StrAppend(&cases, ">\n    <", element, " type=\"", VerdictName(check.verdict()),
                    "\" message=\"", Xml(OneLine(check)), "\">", Xml(Near(check)), "</", element,
                    ">\n  </testcase>\n");
  }
  return TestSuite(report.checks_size(), failures, errors, cases);
}

std::string ErrorAsJunit(const std::string& what) {
  return TestSuite(1, 0, 1,
                   absl::StrCat("  <testcase classname=\"hotproof.assert\" name=\"input\">\n"
                                "    <error type=\"BAD_INPUT\" message=\"",
                                Xml(what), "\"/>\n  </testcase>\n"));
}

}  // namespace hotproof::cli
