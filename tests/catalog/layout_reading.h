// What the tests of layouts have in common: argument bytes as a library places them, and what is
// read of them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "catalog/classifier.h"
#include "catalog/layouts/layout_set.h"
#include "tests/catalog/corpus.h"

namespace hotproof::catalog {

// One launch: parameter sizes as the driver gives them (each at the next multiple of its alignment,
// tensor maps at 64 bytes from 16 on), and 32-bit words to put into the argument buffer.
struct Launch {
  std::vector<uint32_t> sizes;
  std::vector<std::pair<uint32_t, int32_t>> words;
  std::vector<ByteRange> hidden;
  std::array<uint32_t, 3> grid = {1, 1, 1};
};

inline std::optional<LayoutReading> Read(const Classifier& classifier, const std::string& name,
                                         const Launch& launch, std::string* id = nullptr) {
  std::vector<uint32_t> offsets;
  uint32_t end = 0;
  for (const uint32_t size : launch.sizes) {
    const uint32_t alignment = size == 128 ? 64 : size >= 8 ? 8 : size;
    end = (end + alignment - 1) / alignment * alignment;
    offsets.push_back(end);
    end += size;
  }
  std::string bytes(end, '\0');
  for (const auto& [offset, word] : launch.words) {
    EXPECT_LE(offset + 4, bytes.size());
    std::memcpy(bytes.data() + offset, &word, sizeof word);
  }
  const KernelClass kernel_class = classifier.Classify(name);
  const LaunchEvidence evidence{offsets,
                                launch.sizes,
                                bytes,
                                launch.hidden,
                                {launch.grid[0], launch.grid[1], launch.grid[2]},
                                {1, 1, 1}};
  auto reading = ReadFirst(classifier.LayoutsOf(name, kernel_class), evidence, kernel_class);
  if (reading && id != nullptr) *id = reading->layout;
  return reading;
}

// `name` with `was` in it replaced.
inline std::string With(std::string name, const std::string& was, const std::string& is) {
  const size_t at = name.find(was);
  EXPECT_NE(at, std::string::npos) << was;
  return at == std::string::npos ? name : name.replace(at, was.size(), is);
}

// A real name out of the golden tables.
inline std::string NameWith(std::string_view part) {
  for (const NamedKernel& kernel : ReadNamedKernels()) {
    if (kernel.demangled.find(part) != std::string::npos) return kernel.demangled;
  }
  for (const MoreKernel& kernel : ReadMoreKernels()) {
    if (kernel.name.find(part) != std::string::npos) return kernel.name;
  }
  ADD_FAILURE() << "no name with " << part;
  return "";
}

using Dims = std::tuple<int64_t, int64_t, int64_t>;

class LayoutTest : public ::testing::Test {
 protected:
  void Expect(const std::string& layout, const Dims& dims, const std::string& name,
              const Launch& launch) {
    std::string id;
    const auto reading = Read(classifier_, name, launch, &id);
    ASSERT_TRUE(reading.has_value()) << layout << ": no layout for " << name;
    EXPECT_EQ(id, layout);
    EXPECT_EQ(reading->refused, "");
    EXPECT_EQ((Dims{reading->m.value_or(0), reading->n.value_or(0), reading->k.value_or(0)}), dims)
        << layout;
  }

  Classifier classifier_ = *Classifier::Create();
};

}  // namespace hotproof::catalog
