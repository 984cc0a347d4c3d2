// Any report message as text for people: its repeated messages become sections, as the (show)
// options of report.proto say. Knows no message by name.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace hotproof::cli::render {

struct TableOptions {
  int width = 120;  // characters a line; columns shrink, then go, to keep to it; 0: no limit
  bool colours = false;
};

std::string ToTable(const google::protobuf::Message& message, const TableOptions& options);

}  // namespace hotproof::cli::render
