// The kernels of the synthetic decode server, and what a launch of each shows of itself: names as
// libraries give them; for GEMMs argument bytes, tensor maps and library calls as recorded in
// examples/, so that their shapes can be read as a server's can (catalog/layouts/); for the others
// arguments of the size that they have. Used by SyntheticWorkload::WriteTables.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/writer.h"

namespace hotproof::tools {

class SyntheticKernel {
 public:
  // Each `index` below 152 is another kernel; one in three is a GEMM.
  explicit SyntheticKernel(uint32_t index);

  // Adds it as kernel `id`.
  void Write(trace::Writer& writer, uint32_t id) const;

 private:
  friend class SyntheticSites;
  enum class Kind { kFlashInferSwapped, kDeepGemm, kNvjet, kOther };

  Kind kind_;
  std::string name_;
  uint32_t n_ = 0, k_ = 0;  // of a GEMM
  std::vector<uint32_t> offsets_, sizes_;
};

// Adds sites, and the tensor maps that they need.
class SyntheticSites {
 public:
  explicit SyntheticSites(trace::Writer& writer) : writer_(writer) {}

  // `site` with what a launch of `kernel` on `tokens` rows shows.
  void Add(trace::SiteEntry site, const SyntheticKernel& kernel, uint32_t tokens);

 private:
  uint32_t Map(uint32_t data_type, uint32_t inner, uint32_t outer);
  void AddTensorMaps(const SyntheticKernel& kernel, uint32_t tokens);

  trace::Writer& writer_;
  std::map<std::array<uint32_t, 3>, uint32_t> maps_;  // ids
  std::string arguments_;
  std::vector<uint32_t> masked_;
  std::vector<trace::TensorMapUseEntry> uses_;
};

}  // namespace hotproof::tools
