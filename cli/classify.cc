#include "cli/classify.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "catalog/classifier.h"

namespace hotproof::cli {
namespace {

using catalog::Classifier;
using catalog::KernelClass;

struct Options {
  std::vector<std::string> names;
  std::string rules;
  std::string format;
};

// JSON text is UTF-8; a name can be any bytes. Those that are none become U+FFFD.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80 ? 1 : lead >= 0xC2 && lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (lead >= 0x80 && (lead < 0xC2 || lead > 0xF4)) return 0;
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (length >= 3) {  // overlong forms, surrogates, beyond U+10FFFF
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;
    if (lead == 0xED && byte(1) >= 0xA0) return 0;
    if (lead == 0xF0 && byte(1) < 0x90) return 0;
    if (lead == 0xF4 && byte(1) >= 0x90) return 0;
  }
  return length;
}

bool IsPlainJson(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x80 &&
         c != '"' && c != '\\';
}

void AppendJsonString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && IsPlainJson(text[plain])) ++plain;
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const char c = text[0];
    size_t length = 1;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      out += escaped;
    } else if ((length = Utf8Length(text)) > 0) {
      out += text.substr(0, length);
    } else {
      out += "\\ufffd";
      length = 1;
    }
    text.remove_prefix(length);
  }
  out += '"';
}

void AppendField(const char* key, std::string_view value, std::string& out) {
  out.append(",\"").append(key).append("\":");
  AppendJsonString(value, out);
}

void AppendField(const char* key, const std::optional<int64_t>& value, std::string& out) {
  if (value.has_value()) out.append(",\"").append(key).append("\":").append(std::to_string(*value));
}

std::string JsonLine(const std::string& name, const KernelClass& kernel) {
  std::string out = "{\"name\":";
  AppendJsonString(name, out);
  AppendField("path", PathName(kernel.path), out);
  AppendField("kind", KindName(kernel.kind), out);
  AppendField("aDtype", kernel.a_dtype, out);
  AppendField("bDtype", kernel.b_dtype, out);
  AppendField("scaling", kernel.scaling, out);
  AppendField("tile", kernel.tile, out);
  AppendField("m", kernel.m, out);
  AppendField("n", kernel.n, out);
  AppendField("k", kernel.k, out);
  AppendField("arch", kernel.arch, out);
  AppendField("rule", kernel.rule, out);
  return out += "}\n";
}

// Takes names one by one and writes their records.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual void Write(const std::string& name) = 0;
  virtual void Finish() = 0;
};

class JsonWriter : public Writer {
 public:
  explicit JsonWriter(const Classifier& classifier) : classifier_(classifier) {}

  void Write(const std::string& name) override {
    if (const auto known = lines_.find(name); known != lines_.end()) {
      out_ += known->second;
    } else {
      std::string line = JsonLine(name, classifier_.Classify(name));
      out_ += line;
      remembered_bytes_ += name.size() + line.size();
      if (remembered_bytes_ <= kMaxRememberedBytes) lines_.emplace(name, std::move(line));
    }
    if (out_.size() >= kFlushBytes) Finish();
  }
  void Finish() override {
    std::fwrite(out_.data(), 1, out_.size(), stdout);
    out_.clear();
  }

 private:
  // Profiles repeat the same few hundred names; a stream of different ones must not fill the
  // memory.
  static constexpr size_t kMaxRememberedBytes = 64 << 20;
  static constexpr size_t kFlushBytes = 1 << 16;

  const Classifier& classifier_;
  std::unordered_map<std::string, std::string> lines_;
  size_t remembered_bytes_ = 0;
  std::string out_;
};

class TableWriter : public Writer {
 public:
  explicit TableWriter(const Classifier& classifier) : classifier_(classifier) {
    rows_.push_back(
        {"PATH", "KIND", "A", "B", "SCALING", "TILE", "M", "N", "K", "ARCH", "RULE", "NAME"});
  }
  void Write(const std::string& name) override {
    const KernelClass kernel = classifier_.Classify(name);
    const auto extent = [](const std::optional<int64_t>& value) {
      return value.has_value() ? std::to_string(*value) : std::string();
    };
    rows_.push_back({std::string(PathName(kernel.path)), std::string(KindName(kernel.kind)),
                     kernel.a_dtype, kernel.b_dtype, kernel.scaling, kernel.tile, extent(kernel.m),
                     extent(kernel.n), extent(kernel.k), kernel.arch, kernel.rule,
                     catalog::CanonicalName(name)});
  }
  void Finish() override {
    std::array<size_t, kColumns> widths = {};
    for (auto& row : rows_) {
      for (size_t i = 0; i < kColumns; ++i) {
        if (row[i].empty()) row[i] = "-";
        widths[i] = std::max(widths[i], row[i].size());
      }
    }
    std::string out;
    for (const auto& row : rows_) {
      for (size_t i = 0; i < kColumns; ++i) {
        out += row[i];
        if (i + 1 < kColumns) out.append(widths[i] + 2 - row[i].size(), ' ');
      }
      out += '\n';
    }
    std::fwrite(out.data(), 1, out.size(), stdout);
    rows_.clear();
  }

 private:
  static constexpr size_t kColumns = 12;
  const Classifier& classifier_;
  std::vector<std::array<std::string, kColumns>> rows_;
};

// One name a line, until the end of stdin; empty lines are none.
void WriteNamesOfStdin(Writer& writer) {
  std::ios::sync_with_stdio(false);
  std::string line;
  while (std::getline(std::cin, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) writer.Write(line);
  }
}

int RunClassify(const Options& options) {
  const auto classifier = Classifier::Create(options.rules);
  if (!classifier.ok()) {
    std::cerr << "hotproof: " << classifier.status().message() << "\n";
    return 2;
  }
  const bool table =
      options.format.empty() ? isatty(STDOUT_FILENO) == 1 : options.format == "table";
  std::unique_ptr<Writer> writer;
  if (table) {
    writer = std::make_unique<TableWriter>(*classifier);
  } else {
    writer = std::make_unique<JsonWriter>(*classifier);
  }
  for (const std::string& name : options.names) {
    if (name == "-") {
      WriteNamesOfStdin(*writer);
    } else {
      writer->Write(name);
    }
  }
  writer->Finish();
  if (std::fflush(stdout) != 0) {
    std::cerr << "hotproof: cannot write the result to stdout; check where it goes\n";
    return 2;
  }
  return 0;
}

}  // namespace

CLI::App* AddClassify(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "classify", "Say which code path kernels belong to and what they compute, by their names");
  command
      ->add_option("NAME", options->names,
                   "Kernel names, mangled or not; - reads one a line from stdin")
      ->required();
  command->add_option("--rules", options->rules, "Rules of your own, tried first (textproto)");
  command
      ->add_option("--format", options->format, "table (on a terminal) or json (one object a line)")
      ->check(CLI::IsMember({"table", "json"}));
  command->callback([options, &exit_code] { exit_code = RunClassify(*options); });
  return command;
}

}  // namespace hotproof::cli
