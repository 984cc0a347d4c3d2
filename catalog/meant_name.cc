#include "catalog/meant_name.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hotproof::catalog {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substitute = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substitute});
    }
  }
  return row.back();
}

std::string MeantName(const std::string& name, const std::vector<std::string>& names) {
  std::string meant;
  size_t least = name.size() / 3 + 1;
  for (const std::string& other : names) {
    const size_t differ = EditDistance(name, other);
    if (differ >= least) continue;
    least = differ;
    meant = other;
  }
  return meant;
}

std::string UnknownName(const std::string& what, const std::string& name,
                        const std::vector<std::string>& names) {
  const std::string meant = MeantName(name, names);
  return absl::StrCat(what, " '", name, "' is unknown; ",
                      meant.empty() ? "" : absl::StrCat("did you mean ", meant, "? "),
                      "one of: ", absl::StrJoin(names, " "));
}

}  // namespace hotproof::catalog
