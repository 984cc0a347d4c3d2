// Stands before cuptiActivityRegisterCallbacks: a process has one pair of activity buffer
// callbacks, and who registers last has it. torch.profiler does so whenever a profile starts and
// would otherwise end our timing without a word. The call itself always goes on to CUPTI.
#include <cupti.h>
#include <dlfcn.h>

#include <string>

#include "cupti_tracer/core/guard.h"
#include "cupti_tracer/core/session.h"
#include "cupti_tracer/interpose/real_function.h"

namespace hotproof::tracer {
namespace {

using Register = decltype(&cuptiActivityRegisterCallbacks);

std::string LibraryAt(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "another tool";
  const std::string path = info.dli_fname;
  return path.substr(path.rfind('/') + 1);
}

}  // namespace
}  // namespace hotproof::tracer

extern "C" __attribute__((visibility("default"))) CUptiResult CUPTIAPI
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                               CUpti_BuffersCallbackCompleteFunc complete) {
  using namespace hotproof::tracer;
  static constinit RealFunction found("cuptiActivityRegisterCallbacks", "libcupti.so");
  const void* caller = __builtin_return_address(0);
  Session* session = Session::Get();
  auto real = reinterpret_cast<Register>(
      found.For(caller, reinterpret_cast<const void*>(&cuptiActivityRegisterCallbacks)));
  if (real == nullptr && session != nullptr) real = session->cupti().ActivityRegisterCallbacks;
  if (real == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  // Another copy of CUPTI has callbacks of its own, and CUPTI refuses null ones.
  if (session != nullptr && request != nullptr && complete != nullptr &&
      real == session->cupti().ActivityRegisterCallbacks) {
    Guarded([&] { session->OnBuffersTakenOver(LibraryAt(caller)); });
  }
  return real(request, complete);
}
