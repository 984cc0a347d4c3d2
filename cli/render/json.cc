#include "cli/render/json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <memory>
#include <vector>

#include "cli/render/printable.h"

namespace hotproof::cli::render {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Whether all strings are; nearly always.
bool HasOnlyUtf8(const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  std::string scratch;
  for (const FieldDescriptor* field : fields) {
    const bool is_text = field->type() == FieldDescriptor::TYPE_STRING;
    if (!is_text && field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      if (!(is_text ? IsUtf8(reflection.GetStringReference(message, field, &scratch))
                    : HasOnlyUtf8(reflection.GetMessage(message, field)))) {
        return false;
      }
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      if (!(is_text ? IsUtf8(reflection.GetRepeatedStringReference(message, field, i, &scratch))
                    : HasOnlyUtf8(reflection.GetRepeatedMessage(message, field, i)))) {
        return false;
      }
    }
  }
  return true;
}

// protobuf writes an error of its own to stderr for every string that is no UTF-8.
void MakeUtf8(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool is_text = field->type() == FieldDescriptor::TYPE_STRING;
    if (!is_text && field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      if (is_text) {
        reflection.SetString(&message, field, ValidUtf8(reflection.GetString(message, field)));
      } else {
        MakeUtf8(*reflection.MutableMessage(&message, field));
      }
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      if (is_text) {
        reflection.SetRepeatedString(&message, field, i,
                                     ValidUtf8(reflection.GetRepeatedString(message, field, i)));
      } else {
        MakeUtf8(*reflection.MutableRepeatedMessage(&message, field, i));
      }
    }
  }
}

}  // namespace

std::string ToJson(const Message& message, bool one_line) {
  std::unique_ptr<Message> valid;  // a copy, where it has to be another
  if (!HasOnlyUtf8(message)) {
    valid.reset(message.New());
    valid->CopyFrom(message);
    MakeUtf8(*valid);
  }
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.add_whitespace = !one_line;
  std::string json;
  // Fails only for messages that hold google.protobuf.Any of an unknown type: ours have none.
  const auto status = google::protobuf::util::MessageToJsonString(
      valid != nullptr ? *valid : message, &json, options);
  if (!status.ok()) return "{}\n";
  if (json.empty() || json.back() != '\n') json += '\n';
  return json;
}

}  // namespace hotproof::cli::render
