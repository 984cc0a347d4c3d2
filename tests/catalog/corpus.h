// The names that the catalogue is tested on, with what they are known to be (tests/golden/).
#pragma once

#include <string>
#include <vector>

namespace hotproof::catalog {

// kernel_names.tsv: names out of binaries, headers, sources and public traces. `library_path`,
// `op_kind` and `scaling` use that table's spellings.
struct NamedKernel {
  int row = 0;  // line in the file, for messages
  std::string mangled, demangled, source, library_path, op_kind, a_dtype, b_dtype, scaling, tile,
      notes;
};
std::vector<NamedKernel> ReadNamedKernels();

// observed_kernel_names.tsv: names seen on an H200 and the operation that launched them.
struct ObservedKernel {
  int row = 0;
  std::string name, seen_for;
};
std::vector<ObservedKernel> ReadObservedKernels();

// more_kernel_names.tsv: names recorded from vLLM, seen in public profiles or taken from sources,
// with every field of the answer. `fields` are the columns from "path" to "arch".
struct MoreKernel {
  int row = 0;
  std::string name;
  std::vector<std::string> fields;
};
std::vector<MoreKernel> ReadMoreKernels();

// Every spelling of every name in the three files.
std::vector<std::string> AllNames();

}  // namespace hotproof::catalog
