#include "tests/device/forwarding_cupti/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace forwarder {
namespace {

std::mutex& g_mutex = *new std::mutex;  // never destroyed: used by CUPTI's thread until the end
std::atomic<pid_t> g_owner{0};
int g_lines_fd = -1;
int g_raw_fd = -1;
uint64_t g_raw_offset = 0;
std::atomic<uint64_t> g_sequence{0};

int Open(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

// Opens this process's files; a forked child leaves its parent's alone.
void EnsureOpen() {
  const pid_t pid = getpid();
  if (g_owner.load(std::memory_order_acquire) == pid) return;
  std::lock_guard<std::mutex> lock(g_mutex);
  if (g_owner.load(std::memory_order_relaxed) == pid) return;
  const char* prefix = getenv("FORWARD_OUT");
  if (prefix == nullptr) prefix = "/dev/null";
  const std::string base = std::string(prefix) + "." + std::to_string(pid);
  if (g_lines_fd >= 0) close(g_lines_fd);
  if (g_raw_fd >= 0) close(g_raw_fd);
  g_lines_fd = Open(base + ".jsonl");
  g_raw_fd = Open(base + ".raw");
  g_raw_offset = 0;
  g_owner.store(pid, std::memory_order_release);
}

uint64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

uint64_t NextSequence() { return g_sequence.fetch_add(1) + 1; }

int& Depth() {
  static thread_local int depth = 0;
  return depth;
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

Line::Line(std::string_view event) {
  text_ = "{\"e\":\"";
  text_ += event;
  text_ += "\"";
  Uint("s", NextSequence());
  Uint("ns", MonotonicNs());
  Int("t", syscall(SYS_gettid));
  Int("d", Depth());
}

void Line::Key(std::string_view key) {
  text_ += ",\"";
  text_ += key;
  text_ += "\":";
}

Line& Line::Int(std::string_view key, int64_t value) {
  Key(key);
  text_ += std::to_string(value);
  return *this;
}

Line& Line::Uint(std::string_view key, uint64_t value) {
  Key(key);
  text_ += std::to_string(value);
  return *this;
}

Line& Line::Hex(std::string_view key, uint64_t value) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "\"0x%" PRIx64 "\"", value);
  Key(key);
  text_ += buffer;
  return *this;
}

Line& Line::Text(std::string_view key, const char* value) {
  Key(key);
  text_ += value == nullptr ? "null" : Quoted(value);
  return *this;
}

Line& Line::Words(std::string_view key, const uint64_t* words, size_t count) {
  Key(key);
  text_ += '[';
  for (size_t i = 0; i < count; ++i) {
    char buffer[32];
    snprintf(buffer, sizeof buffer, "%s\"0x%" PRIx64 "\"", i == 0 ? "" : ",", words[i]);
    text_ += buffer;
  }
  text_ += ']';
  return *this;
}

Line& Line::Raw(std::string_view key, std::string_view json) {
  Key(key);
  text_ += json;
  return *this;
}

void Line::End() {
  EnsureOpen();
  text_ += "}\n";
  [[maybe_unused]] const ssize_t written = write(g_lines_fd, text_.data(), text_.size());
}

uint64_t AppendRaw(const void* data, size_t size) {
  EnsureOpen();
  std::lock_guard<std::mutex> lock(g_mutex);
  const uint64_t offset = g_raw_offset;
  size_t done = 0;
  while (done < size) {
    const ssize_t n = write(g_raw_fd, static_cast<const char*>(data) + done, size - done);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  g_raw_offset += done;
  return offset;
}

}  // namespace forwarder
