// Programs for the faults that no switch makes: faults_program NAME [ARGUMENTS].
//   pause_then_killed              200 launches, a second's pause, 100 launches, SIGKILL to itself
//   exit_while_launching           four threads launch for ever; exit(5) from the main thread
//   take_over                      200 launches, then activity buffer callbacks of its own as
//                                  torch.profiler makes them, 100 launches
//   launch_through_files DIR N     launches until the tracer has closed N files in DIR
//   serve DIR N                    warm-up, a capture, then replays and launches until the tracer has closed
//                                  file number N; prints how many of each as JSON
//   full_disk DIR FLAG             launches, then more while FLAG makes slow_disk.cc refuse to write, then
//                                  more when the tracer writes again
//   fill_disk_then_launch DIR N    fills DIR's file system but for 64 KiB, then launches N times
#include <cupti.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/device/probe/session.h"

namespace {

using probe::Session;

void PauseThenKilled() {
  Session s;
  for (int i = 0; i < 200; ++i) s.Count(s.stream);
  s.Sync();
  sleep(1);
  for (int i = 0; i < 100; ++i) s.Count(s.stream);
  kill(getpid(), SIGKILL);
}

void ExitWhileLaunching() {
  static Session s;
  for (int t = 0; t < 4; ++t) {
    std::thread([] {
      s.Use();
      for (;;) s.Count(s.stream);
    }).detach();
  }
  usleep(300000);
  puts("leaving");
  exit(5);
}

// What torch.profiler does: the symbol comes from the global scope, the buffers are its own.
void TakeOver() {
  Session s;
  for (int i = 0; i < 200; ++i) s.Count(s.stream);
  s.Sync();
  if (const char* cupti = getenv("HOTPROOF_CUPTI")) {
    dlopen(cupti, RTLD_NOW | RTLD_GLOBAL);
    auto* register_callbacks = reinterpret_cast<decltype(&cuptiActivityRegisterCallbacks)>(
        dlsym(RTLD_DEFAULT, "cuptiActivityRegisterCallbacks"));
    auto* request = +[](uint8_t** buffer, size_t* size, size_t* max_records) {
      *size = 65536;
      *buffer = static_cast<uint8_t*>(malloc(*size));
      *max_records = 0;
    };
    auto* complete = +[](CUcontext, uint32_t, uint8_t*, size_t, size_t) {};
    if (register_callbacks == nullptr || register_callbacks(request, complete) != CUPTI_SUCCESS)
      exit(1);
  }
  for (int i = 0; i < 100; ++i) s.Count(s.stream);
  printf("counted %llu\n", static_cast<unsigned long long>(s.Counted()));
}

void FillDiskThenLaunch(const std::string& directory, int launches) {
  Session s;
  s.Count(s.stream);
  s.Sync();
  usleep(600000);  // the tracer's files are there now, and their first parts are written
  const int filler = open((directory + "/filler").c_str(), O_CREAT | O_WRONLY, 0600);
  char page[4096];
  memset(page, 1, sizeof page);
  off_t bytes = 0;
  while (filler >= 0 && write(filler, page, sizeof page) == sizeof page) bytes += sizeof page;
  if (bytes > 65536 && ftruncate(filler, bytes - 65536) != 0) perror("ftruncate");
  for (int i = 0; i < launches; ++i) s.Count(s.stream);
  printf("counted %llu\n", static_cast<unsigned long long>(s.Counted()));
}

// Until the tracer has closed `files` files. A child made meanwhile ends without touching them.
void LaunchThroughFiles(const std::string& directory, int files) {
  Session s;
  const auto closed = [&] {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      found += entry.path().extension() == ".hps";
    }
    return found;
  };
  bool forked = false;
  while (closed() < files) {
    for (int i = 0; i < 50; ++i) s.Count(s.stream);
    s.Sync();
    if (!forked && closed() > 0) {
      const pid_t child = fork();
      if (child == 0) exit(0);
      waitpid(child, nullptr, 0);
      forked = true;
    }
    usleep(10000);
  }
  for (int i = 0; i < 50; ++i) s.Count(s.stream);
  printf("counted %llu\n", static_cast<unsigned long long>(s.Counted()));
}

// Of the files that the tracer has closed in the folder; 0: none.
int HighestClosed(const std::string& directory) {
  int highest = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::filesystem::path name = entry.path().filename();
    if (name.extension() == ".hps") highest = std::max(highest, atoi(name.stem().extension().c_str() + 1));
  }
  return highest;
}

void Serve(const std::string& directory, int files) {
  constexpr int kWarmup = 10, kNodes = 16;
  Session s;
  for (int i = 0; i < kWarmup; ++i) s.Empty(s.stream);
  s.Begin(s.stream);
  for (int i = 0; i < kNodes; ++i) s.Count(s.stream);
  const CUgraphExec exec = s.Instantiate(s.EndCapture(s.stream));
  long replays = 0, eager = 0, empty = 0;
  while (HighestClosed(directory) < files) {
    for (int i = 0; i < 50; ++i, ++replays) s.Launch(exec, s.stream);
    for (int i = 0; i < 20; ++i, ++eager) s.Count(s.stream, 2);
    for (int i = 0; i < 30; ++i, ++empty) s.Empty(s.stream);
    s.Sync();
    usleep(5000);
  }
  s.Sync();
  printf("{\"warmup\": %d, \"count\": %ld, \"empty\": %ld}\n", kWarmup, replays * kNodes + eager, empty);
}

void FullDisk(const std::string& directory, const std::string& flag) {
  Session s;
  const auto launch_until = [&s](auto done) {
    do {
      for (int i = 0; i < 100; ++i) s.Count(s.stream);
      s.Sync();
      usleep(5000);
    } while (!done());
  };
  const auto bytes = [&] {
    uintmax_t all = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      if (entry.path().extension() == ".hpt") all += entry.file_size();
    }
    return all;
  };
  const uintmax_t begun = bytes();
  launch_until([&] { return bytes() > begun; });
  close(open(flag.c_str(), O_CREAT | O_WRONLY, 0600));
  launch_until([&] { return access((flag + ".refused").c_str(), F_OK) == 0; });
  const uintmax_t full = bytes();
  for (int i = 0; i < 100; ++i) s.Count(s.stream);
  unlink(flag.c_str());
  launch_until([&] { return bytes() > full; });
  for (int i = 0; i < 100; ++i) s.Count(s.stream);
  printf("counted %llu\n", static_cast<unsigned long long>(s.Counted()));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "pause_then_killed")
    PauseThenKilled();
  else if (name == "exit_while_launching")
    ExitWhileLaunching();
  else if (name == "take_over")
    TakeOver();
  else if (name == "fill_disk_then_launch" && argc == 4)
    FillDiskThenLaunch(argv[2], atoi(argv[3]));
  else if (name == "launch_through_files" && argc == 4)
    LaunchThroughFiles(argv[2], atoi(argv[3]));
  else if (name == "serve" && argc == 4)
    Serve(argv[2], atoi(argv[3]));
  else if (name == "full_disk" && argc == 4)
    FullDisk(argv[2], argv[3]);
  else
    return 64;
  return 0;
}
