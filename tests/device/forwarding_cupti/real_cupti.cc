#include "tests/device/forwarding_cupti/real_cupti.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "tests/device/forwarding_cupti/log.h"

namespace forwarder {
namespace {

const char* const kNames[] = {
#define X(name, arguments) #name,
#include "tests/device/forwarding_cupti/cupti_functions.inc"
#undef X
};

const int kArguments[] = {
#define X(name, arguments) arguments,
#include "tests/device/forwarding_cupti/cupti_functions.inc"
#undef X
};

// FORWARD_BACKTRACE=1: where a crash happened, on stderr, before it takes its course.
void OnCrash(int signal_number) {
  void* frames[40];
  backtrace_symbols_fd(frames, backtrace(frames, 40), STDERR_FILENO);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void* RealLibrary() {
  static void* const library = [] {
    const char* path = getenv("REAL_CUPTI");
    // DEEPBIND: the real library's calls of its own functions must not come back here. Sanitizers
    // refuse it; they run with the stand-in, which makes no such calls.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const int flags = RTLD_NOW | RTLD_LOCAL;
#else
    const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif
    void* handle = path == nullptr ? nullptr : dlopen(path, flags);
    if (handle == nullptr) {
      fprintf(stderr, "forwarding_cupti: REAL_CUPTI=%s: %s\n", path ? path : "(unset)", dlerror());
      abort();
    }
    if (getenv("FORWARD_BACKTRACE") != nullptr) signal(SIGSEGV, OnCrash);
    Dl_info info;
    void* probe = dlsym(handle, "cuptiGetVersion");
    Line("open")
        .Text("path", path)
        .Text("file", dladdr(probe, &info) ? info.dli_fname : nullptr)
        .End();
    return handle;
  }();
  return library;
}

}  // namespace

const char* FunctionName(Function f) { return kNames[f]; }
int ArgumentCount(Function f) { return kArguments[f]; }

void* Real(Function f) {
  static std::atomic<void*> table[kFunctionCount];
  void* real = table[f].load(std::memory_order_acquire);
  if (real == nullptr) {
    real = dlsym(RealLibrary(), kNames[f]);
    table[f].store(real, std::memory_order_release);
  }
  return real;
}

}  // namespace forwarder
