// Any report message as JSON: protobuf's mapping, every field printed, absent optionals absent.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace hotproof::cli::render {

// Ends with a newline. Bytes of its strings that are no UTF-8 become U+FFFD. `one_line`: no other newline.
std::string ToJson(const google::protobuf::Message& message, bool one_line = false);

}  // namespace hotproof::cli::render
