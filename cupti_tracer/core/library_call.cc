#include "cupti_tracer/core/library_call.h"

#include <xxhash.h>

#include "cupti_tracer/core/callback_data.h"

namespace hotproof::tracer {
namespace {

uint64_t HashOf(const trace::LibraryCallEntry& call) {
  const uint64_t name = XXH3_64bits(call.entry_point.data(), call.entry_point.size());
  return XXH3_64bits_withSeed(&call.numbers, sizeof call.numbers, name) | 1;
}

}  // namespace

// A longjmp runs no destructor. The scope is alive if its frame is above ours, on a stack that grows down,
// and still holds its number. (Seen from another stack it may count as left: its kernels have no call then.)
// What it reads may be anybody's by now, as an address sanitizer sees it.
__attribute__((no_sanitize("address"), noinline)) void LibraryCallState::EndIfLeft() {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const bool alive = here < reinterpret_cast<uintptr_t>(serial_on_stack) &&
                     *static_cast<const volatile uint64_t*>(serial_on_stack) == serial;
  if (!alive) call = nullptr;
}

LibraryCallScope::LibraryCallScope(const trace::LibraryCallEntry& call)
    : serial_(IsNested() ? 0 : callback_thread.library_call.serial + 1) {
  if (serial_ != 0) callback_thread.library_call = {&call, HashOf(call), &serial_, serial_};
}

LibraryCallScope::~LibraryCallScope() {
  LibraryCallState& state = callback_thread.library_call;
  if (serial_ != 0 && state.serial == serial_) state.call = nullptr;
}

CurrentLibraryCall CurrentLibraryCall::Get() noexcept { return Get(callback_thread.library_call); }

bool LibraryCallScope::IsNested() { return CurrentLibraryCall::Get().call != nullptr; }

}  // namespace hotproof::tracer
