#include "cli/render/table.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/render/columns.h"
#include "cli/render/printable.h"
#include "proto/report.pb.h"

namespace hotproof::cli::render {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using report::Show;

constexpr int kIndent = 2;

// "%.0f". Nearly all numbers of a report are counts, for which StrFormat is slow.
std::string Whole(double value) {
  constexpr double kMost = 1e15;
  const auto whole = static_cast<int64_t>(std::abs(value) < kMost ? value : 0);
  if (static_cast<double>(whole) != value || std::signbit(value))
    return absl::StrFormat("%.0f", value);
  return absl::StrCat(whole);
}

std::string WithThousands(double value) {
  const std::string digits = Whole(std::abs(value));
  std::string text = value < 0 ? "-" : "";
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

// The unit in which the times of a section are shown: the largest that the largest of them fills.
struct TimeUnit {
  const char* name;
  double ns;
  int decimals;
};
TimeUnit UnitFor(double largest_ns) {
  if (largest_ns >= 1e10) return {"s", 1e9, 3};
  if (largest_ns >= 1e6) return {"ms", 1e6, 3};
  if (largest_ns >= 1e3) return {"us", 1e3, 3};
  return {"ns", 1, 0};
}

// A field's values in the rows of one section.
class Values {
 public:
  Values(const FieldDescriptor* field, const std::vector<const Message*>& rows)
      : field_(field), show_(field->options().GetExtension(report::show)), rows_(rows) {}

  double Largest() const {
    double largest = 0;
    for (const Message* row : rows_) {
      if (IsNumber() && IsPresent(*row)) largest = std::max(largest, std::abs(NumberOf(*row)));
    }
    return largest;
  }
  void SetTimeUnit(const TimeUnit& unit) { time_unit_ = unit; }

  bool IsNumber() const {
    return !field_->is_repeated() && (field_->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE ||
                                      field_->cpp_type() == FieldDescriptor::CPPTYPE_UINT32);
  }
  bool IsPresent(const Message& row) const {
    return !field_->has_presence() || row.GetReflection()->HasField(row, field_);
  }
  double NumberOf(const Message& row) const {
    if (!IsPresent(row)) return 0;
    const Reflection* reflection = row.GetReflection();
    return field_->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE
               ? reflection->GetDouble(row, field_)
               : reflection->GetUInt32(row, field_);
  }
  std::string Format(double value) const {
    switch (show_.unit()) {
      case Show::COUNT:
        return WithThousands(value);
      case Show::SHARE:
        return absl::StrFormat("%.1f%%", value * 100);
      case Show::TIME_NS:
        return absl::StrFormat("%.*f", time_unit_.decimals, value / time_unit_.ns);
      case Show::LAUNCH_NS:
        return absl::StrFormat("%.2f", value / 1e3);
      case Show::DIFFERENCE_NS:
        return absl::StrFormat("%+.*f", time_unit_.decimals, value / time_unit_.ns);
      case Show::RATIO:
        return absl::StrFormat("%.2fx", value);
      default:
        return Whole(value);
    }
  }
  std::string Text(const Message& row) const {
    const Reflection* reflection = row.GetReflection();
    if (field_->is_repeated()) {
      std::vector<std::string> parts;
      for (int i = 0; i < reflection->FieldSize(row, field_); ++i) {
        parts.push_back(Printable(reflection->GetRepeatedString(row, field_, i)));
      }
      return absl::StrJoin(parts, ", ");
    }
    if (!IsPresent(row)) return OfNothing(row) ? "-" : Absent();
    if (IsNumber()) {
      std::string number = Format(NumberOf(row));
      return IsLeast(row) ? absl::StrCat(">= ", number) : number;
    }
    if (field_->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      std::string name = reflection->GetEnum(row, field_)->name();
      std::replace(name.begin(), name.end(), '_', ' ');
      return name;
    }
    std::string scratch;
    return Printable(reflection->GetStringReference(row, field_, &scratch));
  }
  // Of a field that is no number: Text() is empty.
  bool IsEmptyText(const Message& row) const {
    const bool is_one_string = !field_->is_repeated() && IsPresent(row) &&
                               field_->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    if (!is_one_string) return Text(row).empty();
    std::string scratch;
    return row.GetReflection()->GetStringReference(row, field_, &scratch).empty();
  }
  std::string WithTitle(const std::string& text) const {
    return show_.title().empty() ? text : absl::StrCat(show_.title(), " ", text);
  }
  // With the title, each text of a repeated field by itself.
  std::vector<std::string> Paragraphs(const Message& row) const {
    std::vector<std::string> texts;
    for (int i = 0; field_->is_repeated() && i < row.GetReflection()->FieldSize(row, field_); ++i)
      texts.push_back(WithTitle(Printable(row.GetReflection()->GetRepeatedString(row, field_, i))));
    if (!field_->is_repeated() && !Text(row).empty()) texts.push_back(WithTitle(Text(row)));
    return texts;
  }
  bool AnySet() const {
    return std::any_of(rows_.begin(), rows_.end(), [this](const Message* row) {
      return IsNumber() ? NumberOf(*row) != 0 : !IsEmptyText(*row);
    });
  }
  std::string Title() const {
    return IsSum()                           ? absl::StrCat(show_.title(), " ", time_unit_.name)
           : show_.unit() == Show::LAUNCH_NS ? absl::StrCat(show_.title(), " us")
                                             : show_.title();
  }
  // A time in the unit that all of its section have.
  bool IsSum() const {
    return show_.unit() == Show::TIME_NS || show_.unit() == Show::DIFFERENCE_NS;
  }
  std::string Total() const {
    double total = 0;
    size_t known = 0, of_nothing = 0;
    bool least = false;
    for (const Message* row : rows_) {
      known += IsPresent(*row);
      of_nothing += OfNothing(*row);
      least |= IsLeast(*row);
      total += NumberOf(*row);
    }
    const size_t needed = show_.unit() == Show::DIFFERENCE_NS ? rows_.size() : 1;
    if (known >= needed) return absl::StrCat(least ? ">= " : "", Format(total));
    return of_nothing == rows_.size() ? "-" : Absent();
  }
  std::string Absent() const { return show_.absent().empty() ? "-" : show_.absent(); }
  bool IsLeast(const Message& row) const {
    return !show_.at_least().empty() &&
           row.GetReflection()->GetBool(row,
                                        row.GetDescriptor()->FindFieldByName(show_.at_least()));
  }
  // What the value would be of is known to be none.
  bool OfNothing(const Message& row) const {
    return std::any_of(show_.of().begin(), show_.of().end(), [&](const std::string& name) {
      const FieldDescriptor* of = row.GetDescriptor()->FindFieldByName(name);
      return row.GetReflection()->HasField(row, of) && row.GetReflection()->GetDouble(row, of) == 0;
    });
  }
  const Show& show() const { return show_; }
  // Some value, not zero, is not that of `other`.
  bool DiffersFrom(const Values& other) const {
    return AnySet() && std::any_of(rows_.begin(), rows_.end(), [&](const Message* row) {
             return NumberOf(*row) != other.NumberOf(*row);
           });
  }

 private:
  const FieldDescriptor* field_;
  const Show& show_;
  const std::vector<const Message*>& rows_;
  TimeUnit time_unit_{"ns", 1, 0};
};

std::vector<Values> ShownFields(const google::protobuf::Descriptor* descriptor,
                                const std::vector<const Message*>& rows) {
  std::vector<Values> shown;
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (!field->options().HasExtension(report::show)) continue;
    Values values(field, rows);
    if (values.show().json_only() || (values.show().if_any() && !values.AnySet())) continue;
    if (const std::string& other = values.show().if_differs();
        !other.empty() && !values.DiffersFrom({descriptor->FindFieldByName(other), rows})) {
      continue;
    }
    shown.push_back(std::move(values));
  }
  double largest_ns = 0;
  for (const Values& values : shown) {
    if (values.IsSum()) largest_ns = std::max(largest_ns, values.Largest());
  }
  for (Values& values : shown) values.SetTimeUnit(UnitFor(largest_ns));
  return shown;
}

class Renderer {
 public:
  explicit Renderer(const TableOptions& options) : options_(options) {}

  std::string Render(const Message& message) {
    const auto* descriptor = message.GetDescriptor();
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const FieldDescriptor* field = descriptor->field(i);
      const Show& show = field->options().GetExtension(report::show);
      if (IsLine(message, field, show)) {
        for (const std::string& line :
             Wrap(Printable(message.GetReflection()->GetString(message, field)), Room(0))) {
          AddLine(line);
        }
      }
      if (!field->is_repeated() || field->message_type() == nullptr || show.title().empty())
        continue;
      if (show.if_any() && message.GetReflection()->FieldSize(message, field) == 0) continue;
      Section(message, field, show);
    }
    return std::move(text_);
  }

 private:
  static bool IsLine(const Message& message, const FieldDescriptor* field, const Show& show) {
    return field->options().HasExtension(report::show) && !show.json_only() &&
           !field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
           !message.GetReflection()->GetString(message, field).empty();
  }

  static std::string Empty(const Message& message, const Show& show) {
    const auto* all_known = message.GetDescriptor()->FindFieldByName(show.all_known());
    const bool known = all_known == nullptr || message.GetReflection()->GetBool(message, all_known);
    return known ? show.empty() : show.empty_unknown();
  }

  void Section(const Message& message, const FieldDescriptor* field, const Show& show) {
    if (!text_.empty()) text_ += '\n';
    AddLine(Bold(show.title()));
    std::vector<const Message*> rows;
    for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
      rows.push_back(&message.GetReflection()->GetRepeatedMessage(message, field, i));
    }
    if (rows.empty()) return AddLine("  " + Empty(message, show));
    if (show.style() == Show::LINES) {
      Paragraphs(field->message_type(), rows);
    } else {
      Table(field->message_type(), rows, show);
    }
  }

  void Paragraphs(const google::protobuf::Descriptor* descriptor,
                  const std::vector<const Message*>& rows) {
    const std::vector<Values> fields = ShownFields(descriptor, rows);
    for (const Message* row : rows) {
      std::vector<std::string> head;
      for (const Values& field : fields) {
        if (field.show().shrinks()) continue;
        const bool none = field.show().if_any() && field.IsNumber() && field.NumberOf(*row) == 0;
        if (!none) head.push_back(field.WithTitle(field.Text(*row)));
      }
      AddLine("  " + Coloured(absl::StrJoin(head, "  ")));
      for (const Values& field : fields) {
        if (!field.show().shrinks()) continue;
        for (const std::string& text : field.Paragraphs(*row)) {
          for (const std::string& line : Wrap(text, Room(2 * kIndent))) {
            AddLine(std::string(2 * kIndent, ' ') + Coloured(line));
          }
        }
      }
    }
  }

  void Table(const google::protobuf::Descriptor* descriptor, const std::vector<const Message*>& all,
             const Show& section) {
    std::vector<const Message*> rows = all;
    if (!section.needs().empty()) {
      const Values needed(descriptor->FindFieldByName(section.needs()), all);
      rows.erase(std::remove_if(rows.begin(), rows.end(),
                                [&](const Message* row) { return needed.NumberOf(*row) == 0; }),
                 rows.end());
    }
    const size_t hidden = all.size() - rows.size();
    const size_t cut =
        section.rows() > 0 && rows.size() > section.rows() ? rows.size() - section.rows() : 0;
    rows.resize(rows.size() - cut);
    std::vector<Column> columns;
    bool totals = false;
    std::vector<std::string> notes;
    for (const Values& field : ShownFields(descriptor, all)) {
      if (!field.show().differs_note().empty()) notes.push_back(field.show().differs_note());
      Column& column = columns.emplace_back();
      column.title = field.Title();
      column.right_aligned = field.IsNumber();
      column.shrinks = field.show().shrinks();
      column.drop_order = field.show().drop_order();
      for (const Message* row : rows) column.cells.push_back(field.Text(*row));
      totals |= field.show().total();
      column.cells.push_back(field.show().total() ? field.Total() : "");
    }
    totals &= rows.size() > 1;
    if (!totals) {
      for (Column& column : columns) column.cells.pop_back();
    }
    if (!rows.empty()) {
      // What may be long stands last: numbers keep their places, and nothing is padded to it.
      std::stable_partition(columns.begin(), columns.end(),
                            [](const Column& column) { return !column.shrinks; });
      Fit(columns, Room(kIndent));
      const std::vector<std::string> lines = Lines(columns);
      for (size_t i = 0; i < lines.size(); ++i) {
        const bool faint = i == 0 || (totals && i + 1 == lines.size());
        AddLine("  " + (faint ? Faint(lines[i]) : lines[i]));
      }
    }
    for (const std::string& note : notes) AddLine("  " + Faint(note));
    if (cut > 0) AddLine(Faint(absl::StrCat("  ... and ", cut, " more (--format json shows all)")));
    if (hidden > 0) AddLine(Faint(absl::StrCat("  ", hidden, " more ", section.needs_note())));
  }

  // What is left of a line behind `indent` characters.
  int Room(int indent) const {
    return options_.width == 0 ? std::numeric_limits<int>::max() : options_.width - indent;
  }
  void AddLine(const std::string& line) { absl::StrAppend(&text_, line, "\n"); }

  std::string InColour(const std::string& text, const char* code) const {
    return options_.colours ? absl::StrCat("\033[", code, "m", text, "\033[0m") : text;
  }
  std::string Bold(const std::string& text) const { return InColour(text, "1"); }
  std::string Faint(const std::string& text) const { return InColour(text, "2"); }

  // A line that begins with a verdict shows it in the verdict's colour.
  std::string Coloured(const std::string& line) const {
    static constexpr std::pair<const char*, const char*> kColours[] = {
        {"COMPLETE", "32"},    {"PASS", "32"},          {"COUNTED", "33"},
        {"LOWER BOUND", "33"}, {"WARNING", "33"},       {"INCONCLUSIVE", "33"},
        {"FAIL", "31"},        {"NOT COLLECTED", "31"}, {"ERROR", "31"}};
    for (const auto& [word, code] : kColours) {
      if (absl::StartsWith(line, word)) {
        return absl::StrCat(InColour(word, code), line.substr(std::string(word).size()));
      }
    }
    return line;
  }

  TableOptions options_;
  std::string text_;
};

}  // namespace

std::string ToTable(const Message& message, const TableOptions& options) {
  return Renderer(options).Render(message);
}

}  // namespace hotproof::cli::render
