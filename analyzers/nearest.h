// What ran instead: the kernels most like the one that an expectation asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hotproof::analyzers {

// How much a kernel's name has in common with a pattern, 0..1: shared words (runs of letters and
// digits, in lower case), and how close the words that are not shared are in edits.
double NameSimilarity(const std::string& pattern, const std::string& name);

// Indices into `names` of the most similar ones first, at most `limit`, ties by `weight`
// (launches), then by name. With an empty pattern the heaviest.
std::vector<size_t> NearestNames(const std::string& pattern, const std::vector<std::string>& names,
                                 const std::vector<uint64_t>& weight, size_t limit);

}  // namespace hotproof::analyzers
