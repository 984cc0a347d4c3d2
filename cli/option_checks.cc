#include "cli/option_checks.h"

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace hotproof::cli {
namespace {

// Reads digits and takes them from `text`; false: there are none, or the number is beyond 64 bits.
bool TakeNumber(std::string_view* text, uint64_t* number) {
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, *number);
  *text = std::string_view(rest, static_cast<size_t>(end - rest));
  return error == std::errc();
}

// False: it is no size, or one beyond 64 bits.
bool ReadSize(std::string_view text, uint64_t* bytes) {
  if (!TakeNumber(&text, bytes)) return false;
  std::string unit(text);
  absl::AsciiStrToLower(&unit);
  if (unit.empty() || unit == "b") return true;
  const size_t power = std::string_view("kmgtpe").find(unit[0]);
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib")) {
    return false;
  }
  return !__builtin_mul_overflow(*bytes, uint64_t{1} << (10 * (power + 1)), bytes);
}

}  // namespace

CLI::Validator NotEmpty() {
  return CLI::Validator(
      [](const std::string& value) { return value.empty() ? "must not be empty" : ""; }, "");
}

CLI::Validator WholeNumber(uint64_t most) {
  return CLI::Validator(
      [most](std::string& value) -> std::string {
        uint64_t number = 0;
        std::string_view rest = value;
        if (!TakeNumber(&rest, &number) || !rest.empty() || number > most) {
          return absl::StrCat("takes a whole number from 0 to ", most, ", not ", value);
        }
        value = absl::StrCat(number);  // without leading zeros, which are octal to CLI11
        return "";
      },
      "");
}

CLI::Validator SizeInBytes() {
  return CLI::Validator(
      [](std::string& value) {
        uint64_t bytes = 0;
        if (!ReadSize(value, &bytes)) {
          return absl::StrCat("takes a size such as 256M, below 16E, not ", value);
        }
        value = absl::StrCat(bytes);
        return std::string();
      },
      "");
}

}  // namespace hotproof::cli
