#include "cli/classify.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "catalog/classifier.h"
#include "cli/classify_json.h"
#include "cli/classify_stream.h"
#include "cli/render/printable.h"

namespace hotproof::cli {
namespace {

using catalog::Classifier;
using catalog::KernelClass;

// More would wait for each other's output.
constexpr unsigned kMaxThreads = 16;

struct Options {
  std::vector<std::string> names;
  std::string rules;
  std::string format;
};

// Collects rows, for a column is as wide as its widest cell.
class Table {
 public:
  explicit Table(const Classifier& classifier) : classifier_(classifier) {
    rows_.push_back(
        {"PATH", "KIND", "A", "B", "SCALING", "TILE", "M", "N", "K", "ARCH", "RULE", "NAME"});
  }
  void Add(const std::string& name) {
    const KernelClass kernel = classifier_.Classify(name);
    const auto extent = [](const std::optional<int64_t>& value) {
      return value.has_value() ? std::to_string(*value) : std::string();
    };
    rows_.push_back({std::string(PathName(kernel.path)), std::string(KindName(kernel.kind)),
                     kernel.a_dtype, kernel.b_dtype, kernel.scaling, kernel.tile, extent(kernel.m),
                     extent(kernel.n), extent(kernel.k), kernel.arch, kernel.rule,
                     render::Printable(catalog::CanonicalName(name))});
  }
  void Write() {
    std::array<size_t, kColumns> widths = {};
    for (auto& row : rows_) {
      for (size_t i = 0; i < kColumns; ++i) {
        if (row[i].empty()) row[i] = "-";
        widths[i] = std::max(widths[i], row[i].size());
      }
    }
    std::string out;
    for (const auto& row : rows_) {
      for (size_t i = 0; i < kColumns; ++i) {
        out += row[i];
        if (i + 1 < kColumns) out.append(widths[i] + 2 - row[i].size(), ' ');
      }
      out += '\n';
    }
    std::fwrite(out.data(), 1, out.size(), stdout);
    rows_.clear();
  }

 private:
  static constexpr size_t kColumns = 12;
  const Classifier& classifier_;
  std::vector<std::array<std::string, kColumns>> rows_;
};

absl::Status WriteTable(const Classifier& classifier, const std::vector<std::string>& names) {
  Table table(classifier);
  for (const std::string& name : names) {
    if (name != "-") {
      table.Add(name);
      continue;
    }
    std::ios::sync_with_stdio(false);
    std::string line;
    while (std::getline(std::cin, line)) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (!IsBlank(line)) table.Add(line);
    }
    if (std::cin.bad())
      return absl::UnavailableError(
          "cannot read the names from stdin; give them by a file or a pipe");
  }
  table.Write();
  return absl::OkStatus();
}

absl::Status WriteJson(const Classifier& classifier, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name == "-") {
      std::fflush(stdout);
      const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, kMaxThreads);
      const auto status = ClassifyLines(classifier, STDIN_FILENO, STDOUT_FILENO, threads);
      if (!status.ok()) return status;
    } else {
      std::string line;
      AppendJsonLine(name, classifier.Classify(name), line);
      std::fwrite(line.data(), 1, line.size(), stdout);
    }
  }
  return absl::OkStatus();
}

int RunClassify(const Options& options) {
  const auto fail = [](const auto& message) {
    std::cerr << "hotproof: " << message << "\n";
    return 2;
  };
  const auto classifier = Classifier::Create(options.rules);
  if (!classifier.ok()) return fail(classifier.status().message());
  const bool table =
      options.format.empty() ? isatty(STDOUT_FILENO) == 1 : options.format == "table";
  const absl::Status status =
      table ? WriteTable(*classifier, options.names) : WriteJson(*classifier, options.names);
  if (!status.ok()) return fail(status.message());
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return fail("cannot write the result to stdout; check where it goes");
  return 0;
}

}  // namespace

CLI::App* AddClassify(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "classify", "Say which code path kernels belong to and what they compute, by their names");
  command
      ->add_option("NAME", options->names,
                   "Kernel names, mangled or not; - reads one a line from stdin")
      ->required();
  command->add_option("--rules", options->rules, "Rules of your own, tried first (textproto)");
  command
      ->add_option("--format", options->format, "table (on a terminal) or json (one object a line)")
      ->check(CLI::IsMember({"table", "json"}));
  command->callback([options, &exit_code] { exit_code = RunClassify(*options); });
  return command;
}

}  // namespace hotproof::cli
