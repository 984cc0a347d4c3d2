#include "cupti_tracer/core/process_info.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "trace/redact.h"

extern char** environ;

namespace hotproof::tracer {
namespace {

std::string ReadFile(const char* path, size_t limit_bytes = 1 << 20) {
  std::string text;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char block[4096];
  while (text.size() < limit_bytes) {
    const ssize_t n = read(fd, block, sizeof block);
    if (n <= 0) break;
    text.append(block, static_cast<size_t>(n));
  }
  close(fd);
  return text;
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// Field 22 of /proc/self/stat, counted from behind the command's closing parenthesis.
uint64_t StartTicks() {
  const std::string stat = ReadFile("/proc/self/stat");
  size_t at = stat.rfind(')');
  if (at == std::string::npos) return 0;
  for (int field = 2; field < 22; ++field) {
    at = stat.find(' ', at + 1);
    if (at == std::string::npos) return 0;
  }
  return std::strtoull(stat.c_str() + at + 1, nullptr, 10);
}

// "NVRM version: NVIDIA UNIX ... Kernel Module  580.159.04  ...": the first word that is all digits
// and dots.
std::string DriverName() {
  const std::string line = FirstLine(ReadFile("/proc/driver/nvidia/version"));
  for (size_t begin = 0; begin < line.size();) {
    const size_t end = std::min(line.find(' ', begin), line.size());
    const std::string word = line.substr(begin, end - begin);
    if (word.find('.') != std::string::npos &&
        word.find_first_not_of("0123456789.") == std::string::npos) {
      return word;
    }
    begin = end + 1;
  }
  return "";
}

}  // namespace

ProcessInfo ProcessInfo::Read() {
  ProcessInfo info;
  info.pid = static_cast<uint32_t>(getpid());
  info.parent_pid = static_cast<uint32_t>(getppid());
  info.start_ticks = StartTicks();
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) == 0) info.host = name;
  info.boot_id = FirstLine(ReadFile("/proc/sys/kernel/random/boot_id"));
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  if (n > 0) info.executable.assign(path, static_cast<size_t>(n));
  std::vector<std::string> arguments;
  const std::string command_line = ReadFile("/proc/self/cmdline");
  for (size_t at = 0; at < command_line.size();) {
    const size_t end = std::min(command_line.find('\0', at), command_line.size());
    arguments.push_back(command_line.substr(at, end - at));
    at = end + 1;
  }
  info.arguments = trace::RedactArguments(arguments);
  std::vector<std::string> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  info.environment = trace::AllowedEnvironment(variables);
  info.driver_name = DriverName();
  return info;
}

std::string TraceFileStem(const ProcessInfo& info) {
  uint64_t random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) {
    random = info.start_ticks * 0x9e3779b97f4a7c15u + info.pid;
  }
  std::string host = info.host.empty() ? "host" : info.host.substr(0, 64);
  for (char& c : host) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.') c = '-';
  }
  char tail[64];
  std::snprintf(tail, sizeof tail, "-%u-%08x", info.pid, static_cast<uint32_t>(random));
  return host + tail;
}

}  // namespace hotproof::tracer
