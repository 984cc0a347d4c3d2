#include "tests/catalog/corpus.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string_view>

namespace hotproof::catalog {
namespace {

// The table's rows without its header; exits if there are none, for no test means anything then.
std::vector<std::vector<std::string>> ReadTable(const std::string& name, size_t columns) {
  const std::string path = std::string(HOTPROOF_SOURCE_DIR) + "/tests/golden/" + name;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) {
    std::cerr << "cannot read " << path << "\n";
    std::exit(1);
  }
  std::vector<std::vector<std::string>> rows;
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::string_view rest = line;
    while (true) {
      const size_t tab = rest.find('\t');
      fields.emplace_back(rest.substr(0, tab));
      if (tab == std::string_view::npos) break;
      rest.remove_prefix(tab + 1);
    }
    fields.resize(columns);
    rows.push_back(std::move(fields));
  }
  if (rows.empty()) {
    std::cerr << path << " has no row\n";
    std::exit(1);
  }
  return rows;
}

}  // namespace

std::vector<NamedKernel> ReadNamedKernels() {
  std::vector<NamedKernel> kernels;
  for (auto& f : ReadTable("kernel_names.tsv", 10)) {
    NamedKernel kernel;
    kernel.row = static_cast<int>(kernels.size()) + 2;
    kernel.mangled = f[0], kernel.demangled = f[1], kernel.source = f[2],
    kernel.library_path = f[3];
    kernel.op_kind = f[4], kernel.a_dtype = f[5], kernel.b_dtype = f[6], kernel.scaling = f[7];
    kernel.tile = f[8], kernel.notes = f[9];
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

std::vector<ObservedKernel> ReadObservedKernels() {
  std::vector<ObservedKernel> kernels;
  for (auto& f : ReadTable("observed_kernel_names.tsv", 2)) {
    kernels.push_back({static_cast<int>(kernels.size()) + 2, f[0], f[1]});
  }
  return kernels;
}

std::vector<MoreKernel> ReadMoreKernels() {
  std::vector<MoreKernel> kernels;
  for (auto& f : ReadTable("more_kernel_names.tsv", 12)) {
    kernels.push_back(
        {static_cast<int>(kernels.size()) + 2, f[0], {f.begin() + 1, f.begin() + 11}});
  }
  return kernels;
}

std::vector<std::string> AllNames() {
  std::vector<std::string> names;
  for (const NamedKernel& kernel : ReadNamedKernels()) {
    names.push_back(kernel.mangled);
    if (kernel.demangled != kernel.mangled) names.push_back(kernel.demangled);
  }
  for (const ObservedKernel& kernel : ReadObservedKernels()) names.push_back(kernel.name);
  for (const MoreKernel& kernel : ReadMoreKernels()) names.push_back(kernel.name);
  return names;
}

}  // namespace hotproof::catalog
