// The library call (cublasLtMatmul, cublasGemmEx, ...) that this thread is in, if any. Kernels that
// it launches or captures meanwhile are that call's: its product, split-K reductions, fills. Set by
// the interposers, read when a launch's site is resolved, on the same thread.
#pragma once

#include <cstdint>

#include "trace/writer.h"

namespace hotproof::tracer {

// For the time of a call. Calls nest (cuBLAS uses cuBLASLt): the outermost one, which the program
// asked for, counts. A scope that a longjmp left behind ends at the next look at it: by where it
// lies on the stack, and by what lies there now.
class LibraryCallScope {
 public:
  explicit LibraryCallScope(const trace::LibraryCallEntry& call);
  ~LibraryCallScope();
  LibraryCallScope(const LibraryCallScope&) = delete;
  LibraryCallScope& operator=(const LibraryCallScope&) = delete;

  // Whether this thread is in such a call already.
  static bool IsNested();

 private:
  const uint64_t serial_;  // of the thread's scopes; 0: not the outermost
};

// The call that a thread is in. Plain: a thread that never calls such a library carries a few zero
// bytes.
struct LibraryCallState {
  const trace::LibraryCallEntry* call;
  uint64_t hash;
  const uint64_t* serial_on_stack;  // in the scope object
  uint64_t serial;

  void EndIfLeft();
};

// Null outside of calls. `hash` tells calls with different contents apart.
struct CurrentLibraryCall {
  const trace::LibraryCallEntry* call = nullptr;
  uint64_t hash = 0;
  static CurrentLibraryCall Get() noexcept;
  // Of `state`, the calling thread's.
  static CurrentLibraryCall Get(LibraryCallState& state) noexcept {
    if (state.call == nullptr) return {};
    state.EndIfLeft();
    return state.call == nullptr ? CurrentLibraryCall{}
                                 : CurrentLibraryCall{state.call, state.hash};
  }
};

}  // namespace hotproof::tracer
