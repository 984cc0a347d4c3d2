#include "cupti_tracer/core/library_call.h"

#include <xxhash.h>

namespace hotproof::tracer {
namespace {

// Kept plain: a thread that never calls such a library carries a few zero bytes.
struct ThreadState {
  const trace::LibraryCallEntry* call;
  uint64_t hash;
  const uint64_t* serial_on_stack;  // in the scope object
  uint64_t serial;
};
constinit thread_local ThreadState state{};

// A longjmp runs no destructor. The scope is alive if its frame is above ours, on a stack that grows down,
// and still holds its number. (Seen from another stack it may count as left: its kernels have no call then.)
// What it reads may be anybody's by now, as an address sanitizer sees it.
__attribute__((no_sanitize("address"), noinline)) void EndIfLeft() {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const bool alive = here < reinterpret_cast<uintptr_t>(state.serial_on_stack) &&
                     *static_cast<const volatile uint64_t*>(state.serial_on_stack) == state.serial;
  if (!alive) state.call = nullptr;
}

uint64_t HashOf(const trace::LibraryCallEntry& call) {
  const uint64_t name = XXH3_64bits(call.entry_point.data(), call.entry_point.size());
  return XXH3_64bits_withSeed(&call.numbers, sizeof call.numbers, name) | 1;
}

}  // namespace

LibraryCallScope::LibraryCallScope(const trace::LibraryCallEntry& call)
    : serial_(IsNested() ? 0 : state.serial + 1) {
  if (serial_ != 0) state = {&call, HashOf(call), &serial_, serial_};
}

LibraryCallScope::~LibraryCallScope() {
  if (serial_ != 0 && state.serial == serial_) state.call = nullptr;
}

bool LibraryCallScope::IsNested() {
  if (state.call != nullptr) EndIfLeft();
  return state.call != nullptr;
}

CurrentLibraryCall CurrentLibraryCall::Get() noexcept {
  if (state.call != nullptr) EndIfLeft();
  if (state.call == nullptr) return {};
  return {state.call, state.hash};
}

}  // namespace hotproof::tracer
