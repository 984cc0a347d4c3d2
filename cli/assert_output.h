// The result of `assert` in its textual formats.
#pragma once

#include <string>

#include "proto/report.pb.h"

namespace hotproof::cli {

std::string AssertAsText(const report::AssertReport& report, bool colours);
// Workflow commands: one annotation a check that does not pass, then the text.
std::string AssertAsGithub(const report::AssertReport& report);
// One annotation: the input could not be judged.
std::string ErrorAsGithub(const std::string& what);
// FAIL is a failure, INCONCLUSIVE an error; what is printed is in system-out. `seconds`: how long the
// whole assert took.
std::string AssertAsJunit(const report::AssertReport& report, double seconds);
// One error: the input could not be judged.
std::string ErrorAsJunit(const std::string& what);

}  // namespace hotproof::cli
