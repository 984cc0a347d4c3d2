#include "cli/render/json.h"

#include <google/protobuf/util/json_util.h>

namespace hotproof::cli::render {

std::string ToJson(const google::protobuf::Message& message, bool one_line) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.add_whitespace = !one_line;
  std::string json;
  // Fails only for messages that hold google.protobuf.Any of an unknown type: ours have none.
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) return "{}\n";
  if (json.empty() || json.back() != '\n') json += '\n';
  return json;
}

}  // namespace hotproof::cli::render
