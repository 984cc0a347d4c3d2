// What NVTX's handles stand for: domains and registered strings. A chained tool gives its own handles,
// otherwise they are ours; both are looked up here. Looking up is lock-free on any thread; registering
// takes a lock. Bounded: at most kMaxTexts different texts and kMaxHandles handles, none is ever dropped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hotproof::tracer {

struct NvtxText {
  std::string text;
  uint32_t domain = 0;  // of a domain's handle: its number (ranges/range_domains.h)
};

class NvtxNames {
 public:
  static constexpr size_t kMaxTexts = 1 << 14, kMaxHandles = 1 << 14;

  // As ProcessRanges::Prepare.
  static void Prepare();

  // The handle that stands for this text from now on: `given`, or one of ours if that is null. One that is
  // full stands for "(many)".
  static const void* AddString(const void* given, std::string_view text);
  static const void* AddDomain(const void* given, std::string_view name);

  // What a text is called that is not kept.
  static constexpr std::string_view kMany = "(many)";

  // Null: unknown; a handle that is not null then is one that was not kept.
  static const NvtxText* Find(const void* handle);
};

// What is kept of the name of a push: not what is another at each call. torch's observer ends names with
// numbers ("aten::mm, seq = 12, op_id = 34"); vLLM's layer-wise ranges are Python dictionaries whose first
// entry is the module, all others are sizes of tensors ("{'Module': 'model.layers.3', 'Inputs': [[8, 5120]]}").
std::string_view KeptOfPushed(std::string_view name);

// UTF-8 of a wide string, null for none, cut behind the characters that are kept.
std::string FromWide(const wchar_t* text);

}  // namespace hotproof::tracer
