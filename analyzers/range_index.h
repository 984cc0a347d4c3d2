// Which named ranges (NVTX, hotproof_range_push, the torch hook) each slot's launches were in, as
// text:
// "[request(7)]/model.layers.3/engine:gemm". In brackets: ranges of the process, open at the time;
// then the launching thread's. Before a colon: the NVTX domain; in parentheses: the payload.
// Immutable after it is made; the TraceIndex must outlive it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzers/trace_index.h"

namespace hotproof::analyzers {

class RangeIndex {
 public:
  explicit RangeIndex(const TraceIndex& index);

  // False: no launch was in any range; the process had none, or they did not reach the tracer.
  bool any() const { return texts_.size() > 1; }
  // Whether any of them is the program's own: in no NVTX domain. Domains are how libraries keep
  // theirs apart (CUB's is CCCL), and say nothing about whether the program's reached the tracer.
  bool any_of_program() const { return any_of_program_; }
  // 0: in none.
  uint32_t range_of_slot(uint32_t slot) const { return any() ? slot_range_[slot] : 0; }
  size_t size() const { return texts_.size(); }
  // As reports show it: a name is without the name around it where it repeats that.
  const std::string& text(uint32_t range) const { return texts_[range]; }
  // With every name whole.
  const std::string& whole_text(uint32_t range) const { return whole_texts_[range]; }
  // Not all of what the program said is in the texts: it stands for many, or a name was cut.
  bool is_many(uint32_t range) const { return !partial_texts_[range].empty(); }
  // Of such a range, `text` and `whole_text` with kUnknown for each piece that is not known.
  static constexpr char kUnknown = '\x01';
  const std::vector<std::string>& partial_texts(uint32_t range) const {
    return partial_texts_[range];
  }

 private:
  std::vector<std::string> texts_ = {""}, whole_texts_ = {""};
  std::vector<std::vector<std::string>> partial_texts_ = {{}};
  bool any_of_program_ = false;
  std::vector<uint32_t> slot_range_;
};

}  // namespace hotproof::analyzers
