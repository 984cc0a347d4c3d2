#include "cli/library_probe.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hotproof::cli {
namespace {

// The few signatures used here, with CUDA's own names; handles are opaque pointers, results 0 on
// success.
using CuInit = int (*)(unsigned);
using CuDeviceGetCount = int (*)(int*);
using CuDeviceGet = int (*)(int*, int);
using CuDeviceGetName = int (*)(char*, int, int);
using CuDevicePrimaryCtxRetain = int (*)(void**, int);
using CuCtxSetCurrent = int (*)(void*);
using CuptiActivityKind = int (*)(int);
constexpr int kConcurrentKernel = 10;  // CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL

template <typename Function>
Function Find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

std::string LoadError() {
  const char* text = dlerror();
  return text != nullptr ? text : "unknown error of the loader";
}

// Path and version in one answer, and back.
template <typename Version>
ProbeAnswer DescribeLibrary(const std::string& name, const char* version_function) {
  void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return {false, LoadError()};
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return {false, LoadError()};
  auto get_version = Find<int (*)(Version*)>(library, version_function);
  Version version = 0;
  if (get_version == nullptr || get_version(&version) != 0) {
    return {false, absl::StrCat(map->l_name, ": ", version_function, " is missing or fails")};
  }
  return {true, absl::StrCat(version, "\n", map->l_name)};
}

LoadedLibrary ToLibrary(const ProbeAnswer& answer) {
  LoadedLibrary library;
  library.found = answer.ok;
  if (!answer.ok) {
    library.error = answer.text;
    return library;
  }
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(answer.text, absl::MaxSplits('\n', 1));
  library.version = std::atoi(parts.first.c_str());
  library.path = parts.second;
  return library;
}

ProbeAnswer StartCuda(const std::string& cupti_name) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (driver == nullptr) return {false, LoadError()};
  const auto init = Find<CuInit>(driver, "cuInit");
  const auto get_count = Find<CuDeviceGetCount>(driver, "cuDeviceGetCount");
  const auto get_device = Find<CuDeviceGet>(driver, "cuDeviceGet");
  const auto get_name = Find<CuDeviceGetName>(driver, "cuDeviceGetName");
  const auto retain = Find<CuDevicePrimaryCtxRetain>(driver, "cuDevicePrimaryCtxRetain");
  const auto set_current = Find<CuCtxSetCurrent>(driver, "cuCtxSetCurrent");
  if (init == nullptr || get_count == nullptr || get_device == nullptr || get_name == nullptr ||
      retain == nullptr || set_current == nullptr) {
    return {false, "libcuda.so.1 lacks a function that every driver has"};
  }
  if (const int result = init(0); result != 0) {
    return {false, absl::StrCat("cuInit says ", result)};
  }
  int count = 0;
  if (get_count(&count) != 0 || count == 0) return {false, "the driver offers no device"};
  std::string names;
  for (int i = 0; i < count; ++i) {
    int device = 0;
    char name[256] = {};
    if (get_device(&device, i) == 0 && get_name(name, sizeof(name) - 1, device) == 0) {
      absl::StrAppend(&names, names.empty() ? "" : ", ", name);
    }
  }
  int device = 0;
  void* context = nullptr;
  if (get_device(&device, 0) != 0) return {false, "the first device cannot be used"};
  if (const int result = retain(&context, device); result != 0 || set_current(context) != 0) {
    return {false,
            absl::StrCat("no context on ", names, ": cuDevicePrimaryCtxRetain says ", result)};
  }
  void* cupti = dlopen(cupti_name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (cupti == nullptr) return {false, absl::StrCat(names, "; CUPTI: ", LoadError())};
  const auto enable = Find<CuptiActivityKind>(cupti, "cuptiActivityEnable");
  const auto disable = Find<CuptiActivityKind>(cupti, "cuptiActivityDisable");
  const int result = enable == nullptr ? -1 : enable(kConcurrentKernel);
  if (result != 0) {
    return {false, absl::StrCat(names, "; cuptiActivityEnable(CONCURRENT_KERNEL) says ", result)};
  }
  if (disable != nullptr) disable(kConcurrentKernel);
  return {true, absl::StrCat(names, "; CUDA starts and CUPTI records kernels")};
}

}  // namespace

ProbeAnswer AskInChild(const std::function<ProbeAnswer()>& question, unsigned timeout_seconds) {
  int answer_pipe[2];
  if (pipe2(answer_pipe, O_CLOEXEC) != 0) return {false, "no pipe"};
  const pid_t pid = fork();
  if (pid < 0) {
    close(answer_pipe[0]);
    close(answer_pipe[1]);
    return {false, "no process"};
  }
  if (pid == 0) {
    // What the libraries print is not the answer.
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    signal(SIGALRM, SIG_DFL);
    alarm(timeout_seconds);
    const ProbeAnswer answer = question();
    const std::string text = (answer.ok ? "1" : "0") + answer.text;
    const ssize_t written = write(answer_pipe[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(answer_pipe[1]);
  std::string text;
  char block[4096];
  for (ssize_t n;
       (n = read(answer_pipe[0], block, sizeof(block))) > 0 || (n < 0 && errno == EINTR);) {
    if (n > 0) text.append(block, static_cast<size_t>(n));
  }
  close(answer_pipe[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    return {false, WTERMSIG(status) == SIGALRM
                       ? absl::StrCat("gave no answer within ", timeout_seconds, " s")
                       : absl::StrCat("crashed with signal ", WTERMSIG(status))};
  }
  if (text.empty()) return {false, "ended without an answer"};
  return {text[0] == '1', text.substr(1)};
}

LoadedLibrary ProbeCupti(const std::string& name) {
  return ToLibrary(AskInChild([&] { return DescribeLibrary<uint32_t>(name, "cuptiGetVersion"); }));
}

LoadedLibrary ProbeDriverLibrary() {
  return ToLibrary(
      AskInChild([] { return DescribeLibrary<int>("libcuda.so.1", "cuDriverGetVersion"); }));
}

ProbeAnswer ProbeCuda(const std::string& cupti_name) {
  return AskInChild([&] { return StartCuda(cupti_name); }, 60);
}

}  // namespace hotproof::cli
