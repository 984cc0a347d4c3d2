// The function that a caller would have reached without us. Any thread; lock-free once found.
#pragma once

#include <atomic>
#include <cstdint>

namespace hotproof::tracer {

class RealFunction {
 public:
  // `library`: the beginning of its file name, "libcublasLt.so".
  constexpr RealFunction(const char* name, const char* library) : name_(name), library_(library) {}

  // `caller`: the return address of the call; `self`: the interposer. As the dynamic linker would:
  // what is global first, then what the caller's own object brought (opened RTLD_LOCAL), then any
  // copy that is loaded. Null if there is none. What it finds stays loaded.
  void* For(const void* caller, const void* self);

 private:
  // The caller's object, and what its calls mean.
  struct Local {
    uintptr_t begin, end;
    void* function;
  };
  void* Find(const void* caller, const void* self);

  const char* name_;
  const char* library_;
  std::atomic<void*> global_{nullptr};
  std::atomic<const Local*> local_{nullptr};
};

}  // namespace hotproof::tracer
