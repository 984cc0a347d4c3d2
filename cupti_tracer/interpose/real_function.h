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
  // what the caller's own object brought (two majors of a library may be in one process, and their
  // callers name versions that we do not), else what is global, else any copy that is loaded. Null if
  // there is none. What it finds stays loaded.
  void* For(const void* caller, const void* self);

 private:
  // The caller's object, and what its calls mean. Few a process; never freed, others read them.
  struct Local {
    uintptr_t begin, end;  // 0, 0: a caller in no object (compiled at run time)
    void* function;
    const Local* next;
  };
  void* Find(const void* caller, const void* self);

  const char* name_;
  const char* library_;
  std::atomic<const Local*> locals_{nullptr};
};

}  // namespace hotproof::tracer
