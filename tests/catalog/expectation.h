// The golden tables' columns in the catalogue's words.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "catalog/kernel_class.h"
#include "tests/catalog/corpus.h"

namespace hotproof::catalog {

// What the answer for a name may be. Where a table leaves something open ("bf16/fp16", "unknown")
// there is more than one right answer.
struct Expectation {
  std::set<std::string> paths, kinds, a_dtypes, b_dtypes, scalings;
  std::string tile;  // "" if the table has none
};

Expectation ExpectationOf(const NamedKernel& kernel);
// From the operation that was running, not from the name.
Expectation ExpectationOf(const ObservedKernel& kernel);

// The answer in the columns of more_kernel_names.tsv.
std::vector<std::string> FieldsOf(const KernelClass& answer);

// "" if `answer` is as expected, otherwise each field that isn't.
std::string Differences(const Expectation& expected, const KernelClass& answer);

}  // namespace hotproof::catalog
