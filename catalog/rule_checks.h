// Whether the fields of a user's rule say anything: a misspelt type would stand in reports as one
// of its own. Called when rules are compiled. Pure functions, safe on any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "catalog/kernel_class.h"
#include "catalog/match/pattern.h"

namespace hotproof::catalog {

class Rule;  // proto/catalog.pb.h

// What operands are called in reports, and how they are scaled; no report has others.
const std::vector<std::string>& DtypeNames();
const std::vector<std::string>& ScalingNames();
// "sm90", "sm100a".
bool IsArchitecture(std::string_view text);

// Errors begin with `where` and are one line. Of constants and of "$name", which a pattern of
// `names` has to capture.
absl::Status CheckFields(const Rule& rule, const std::vector<std::unique_ptr<const Pattern>>& names,
                         const std::string& where);
absl::Status CheckDtype(const std::string& field, const std::string& text,
                        const std::string& where);
absl::StatusOr<Path> PathField(const std::string& text, const std::string& where);
absl::StatusOr<Kind> KindField(const std::string& field, const std::string& text,
                               const std::string& where);

}  // namespace hotproof::catalog
