#include "catalog/rule_text.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace hotproof::catalog {
namespace {

// Keeps the first mistake; text format counts lines and columns from 0.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!text.empty()) return;
    text = std::to_string(line + 1) + ":" + std::to_string(column + 1) + ": " + message;
  }
  std::string text;
};

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content;
  char block[4096];
  while (file.read(block, sizeof block) || file.gcount() > 0) {
    content.append(block, static_cast<size_t>(file.gcount()));
  }
  if (!file.eof()) {
    return absl::NotFoundError(path + ": cannot read the rules: " + std::strerror(errno) +
                               "; give a textproto file of rules (docs/catalog.md)");
  }
  if (content.find_first_not_of(" \t\r\n") == content.npos) {
    return absl::InvalidArgumentError(path + ": is empty; give rules or layouts (docs/catalog.md)");
  }
  return content;
}

}  // namespace

absl::StatusOr<RuleSet> ParseRules(std::string_view text, const std::string& source) {
  RuleSet rules;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(std::string(text), &rules)) {
    return absl::InvalidArgumentError(source + ":" + error.text +
                                      "; see docs/catalog.md for the fields");
  }
  return rules;
}

absl::StatusOr<RuleSet> ReadRulesFile(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text.ok()) return text.status();
  return ParseRules(*text, path);
}

absl::StatusOr<RuleSet> ReadBuiltin(const BuiltinRules& builtin) {
  RuleSet rules;
  if (!rules.ParseFromArray(builtin.message.data(), static_cast<int>(builtin.message.size()))) {
    return absl::InternalError(std::string(builtin.file) +
                               ": was not compiled into the program whole");
  }
  return rules;
}

absl::StatusOr<CompiledRules> LoadRules(const RuleSet* extra, const std::string& extra_source) {
  CompiledRules compiled;
  if (extra != nullptr) {
    const absl::Status status = compiled.Add(*extra, extra_source);
    if (!status.ok()) return status;
  }
  for (const BuiltinRules& builtin : AllBuiltinRules()) {
    auto rules = ReadBuiltin(builtin);
    if (!rules.ok()) return rules.status();
    const absl::Status status = compiled.AddTrusted(*std::move(rules), std::string(builtin.file));
    if (!status.ok()) return status;
  }
  return compiled;
}

}  // namespace hotproof::catalog
