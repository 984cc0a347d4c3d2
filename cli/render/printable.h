// Makes text from outside (names of kernels and programs, arguments, paths) fit to be put out: any
// byte can be in it. Used by everything that writes text or JSON. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hotproof::cli::render {

// The length of the UTF-8 character that `text` begins with; 0 if it is none. `text` is not empty.
size_t Utf8Length(std::string_view text);

bool IsUtf8(std::string_view text);

// Bytes that are no UTF-8 become U+FFFD: protobuf's strings and JSON must be UTF-8.
std::string ValidUtf8(std::string_view text);

// The same, and on one line, with nothing that a terminal obeys: control characters become '?',
// white space a space. For text that people read; a name cannot forge a line of ours, or colour
// one.
std::string Printable(std::string_view text);

}  // namespace hotproof::cli::render
