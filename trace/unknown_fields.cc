#include "trace/unknown_fields.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/unknown_field_set.h"

namespace hotproof::trace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::UnknownFieldSet;

void UnknownFields::Add(const std::string& message_name, int field, uint64_t offset_bytes) {
  constexpr size_t kMostNamed = 1000;
  if (named_.size() >= kMostNamed || !named_.insert({message_name, field}).second) return;
  issues_.push_back({ReadIssue::Kind::kUnknownField, offset_bytes, 0,
                     absl::StrCat("field ", field, " of ", message_name,
                                  " is not known to this version; skipped")});
}

void UnknownFields::Find(const Message& message, uint64_t offset_bytes) {
  const Reflection& reflection = *message.GetReflection();
  const UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    Add(message.GetDescriptor()->name(), unknown.field(i).number(), offset_bytes);
  }
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      Find(reflection.GetMessage(message, field), offset_bytes);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      Find(reflection.GetRepeatedMessage(message, field, i), offset_bytes);
    }
  }
}

}  // namespace hotproof::trace
