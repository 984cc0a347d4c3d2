#include "cupti_tracer/core/library_call.h"

#include <xxhash.h>

namespace hotproof::tracer {
namespace {

// Kept plain: a thread that never calls such a library carries a few zero bytes.
struct ThreadState {
  const trace::LibraryCallEntry* call;
  uint64_t hash;
};
constinit thread_local ThreadState state;

uint64_t HashOf(const trace::LibraryCallEntry& call) {
  const uint64_t name = XXH3_64bits(call.entry_point.data(), call.entry_point.size());
  return XXH3_64bits_withSeed(&call.numbers, sizeof call.numbers, name) | 1;
}

}  // namespace

LibraryCallScope::LibraryCallScope(const trace::LibraryCallEntry& call)
    : outermost_(state.call == nullptr) {
  if (outermost_) state = {&call, HashOf(call)};
}

LibraryCallScope::~LibraryCallScope() {
  if (outermost_) state = {};
}

bool LibraryCallScope::IsNested() { return state.call != nullptr; }

CurrentLibraryCall CurrentLibraryCall::Get() noexcept { return {state.call, state.hash}; }

}  // namespace hotproof::tracer
