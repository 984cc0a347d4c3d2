// Reading memory that may not be there: callback data leaves some fields undefined, and what a log
// asks for out of curiosity must not end the traced process. Through process_vm_readv on the own
// process, so a bad address is an error and not a signal.
#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace forwarder {

// How many of `size` bytes at `from` could be copied to `to`.
inline size_t SafeRead(const void* from, void* to, size_t size) {
  if (from == nullptr) return 0;
  iovec local = {to, size};
  iovec remote = {const_cast<void*>(from), size};
  const ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  return n < 0 ? 0 : static_cast<size_t>(n);
}

template <typename T>
std::optional<T> SafeLoad(const void* from) {
  T value;
  if (SafeRead(from, &value, sizeof value) != sizeof value) return std::nullopt;
  return value;
}

// The string at `from` (at most 64 KiB of it), or nothing if its first byte can't be read. Reads
// never cross from a page that is there to one that isn't.
inline std::optional<std::string> SafeString(const char* from) {
  std::string out;
  char chunk[256];
  while (out.size() < 65536) {
    const char* at = from + out.size();
    const size_t to_page_end = 4096 - reinterpret_cast<uintptr_t>(at) % 4096;
    const size_t n = SafeRead(at, chunk, std::min(sizeof chunk, to_page_end));
    if (n == 0) return out.empty() ? std::nullopt : std::optional(out);
    for (size_t i = 0; i < n; ++i) {
      if (chunk[i] == '\0') return out;
      out += chunk[i];
    }
  }
  return out;
}

}  // namespace forwarder
