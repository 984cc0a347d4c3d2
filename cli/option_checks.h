// Checks of option values that subcommands share. What CLI11 makes of a bad number itself is no
// refusal: a negative one or one beyond 64 bits becomes a huge one.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>

namespace hotproof::cli {

// An unset variable in a script must not become 'any'.
CLI::Validator NotEmpty();

// Digits alone, from 0 to `most`.
CLI::Validator WholeNumber(uint64_t most = UINT64_MAX);

// Turns a size in bytes, such as 256M (K, M, G, T, P, E: powers of 1024), into digits.
CLI::Validator SizeInBytes();

}  // namespace hotproof::cli
