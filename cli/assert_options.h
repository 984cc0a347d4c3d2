// What `hotproof assert` can be asked on the command line.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hotproof::cli {

// As given; what is not stays empty.
struct AssertOptions {
  std::vector<std::string> paths;
  std::string rules;
  std::string expect_file;
  std::string kernel, path, shape, kind, cubin_of, range, share, time_share;
  std::optional<uint64_t> launches, min_launches, max_launches, per_replay;
  std::optional<std::string> processes, phase;
  std::optional<uint32_t> expect_processes;
  std::string junit_file;
  std::string format = "text";
};

// Parsing fills `options`, which must outlive it.
void AddAssertOptions(CLI::App& command, AssertOptions& options);

}  // namespace hotproof::cli
