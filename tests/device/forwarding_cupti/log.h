// The forwarder's log: one JSON object a line in $FORWARD_OUT.<pid>.jsonl and raw activity buffers
// in $FORWARD_OUT.<pid>.raw. Every line is one write() to a file opened with O_APPEND, so lines of
// several threads never mix and a killed process loses at most the line it was writing. Called from
// any thread, callbacks included. A forked child opens files of its own at its first line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace forwarder {

// A line under construction. Fields appear in the order of the calls; End() writes it.
class Line {
 public:
  explicit Line(std::string_view event);
  Line& Int(std::string_view key, int64_t value);
  Line& Uint(std::string_view key, uint64_t value);
  Line& Hex(std::string_view key, uint64_t value);
  Line& Text(std::string_view key, const char* value);  // NULL becomes null
  Line& Words(std::string_view key, const uint64_t* words, size_t count);
  Line& Raw(std::string_view key, std::string_view json);
  void End();

 private:
  void Key(std::string_view key);
  std::string text_;
};

// JSON string literal of `text` (bytes >= 0x80 are passed on as they are).
std::string Quoted(std::string_view text);

// A number that grows by one a call, over all threads: the order of events.
uint64_t NextSequence();

// How many API calls and callbacks the forwarder is inside of on this thread.
int& Depth();

// Appends `size` bytes to the raw file; returns the offset at which they lie.
uint64_t AppendRaw(const void* data, size_t size);

}  // namespace forwarder
