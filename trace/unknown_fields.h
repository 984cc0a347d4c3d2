// Names what a newer minor version of the format added and this one skips.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/message.h"
#include "trace/reader.h"

namespace hotproof::trace {

// Each (message, field) is named once, where it is met first.
class UnknownFields {
 public:
  explicit UnknownFields(std::vector<ReadIssue>& issues) : issues_(issues) {}
  // Looks through `message` and everything in it.
  void Find(const google::protobuf::Message& message, uint64_t offset_bytes);
  void Add(const std::string& message_name, int field, uint64_t offset_bytes);

 private:
  std::vector<ReadIssue>& issues_;
  std::set<std::pair<std::string, int>> named_;
};

}  // namespace hotproof::trace
