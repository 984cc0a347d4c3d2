#include "catalog/layouts/signature.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hotproof::catalog {

absl::StatusOr<Signature> Signature::Compile(std::string_view text) {
  Signature signature;
  for (const absl::string_view word :
       absl::StrSplit(absl::string_view(text.data(), text.size()), ' ', absl::SkipEmpty())) {
    Term term;
    absl::string_view size = word;
    if (const size_t colon = word.find(':'); colon != absl::string_view::npos) {
      size = word.substr(0, colon);
      term.field = std::string(word.substr(colon + 1));
      if (term.field.empty()) size = "";
    }
    if (size == "*") {
      term.repeats = true;
    } else {
      if (size.size() > 1 && size.back() == '*') {
        term.repeats = true;
        size.remove_suffix(1);
      }
      uint32_t bytes = 0;
      if (size != "_") {
        if (!absl::SimpleAtoi(size, &bytes) || bytes == 0) {
          return absl::InvalidArgumentError(absl::StrCat(
              "\"", word, "\" is no parameter; write 8, 8*, _, * or a named one as 4:m"));
        }
        term.size_bytes = bytes;
      }
    }
    if (term.repeats && !term.field.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", word, "\": only a single parameter can be named"));
    }
    signature.terms_.push_back(std::move(term));
  }
  if (signature.terms_.empty()) return absl::InvalidArgumentError("parameters: is empty");
  return signature;
}

std::optional<std::vector<uint32_t>> Signature::Match(std::span<const uint32_t> sizes) const {
  std::vector<uint32_t> at(terms_.size());
  if (!MatchFrom(0, 0, sizes, at)) return std::nullopt;
  return at;
}

// Kernels have at most some hundred parameters and signatures few repeated terms.
bool Signature::MatchFrom(size_t index, uint32_t parameter, std::span<const uint32_t> sizes,
                          std::vector<uint32_t>& at) const {
  if (index == terms_.size()) return parameter == sizes.size();
  const Term& term = terms_[index];
  at[index] = parameter;
  uint32_t end = parameter;
  while (end < sizes.size() && (term.repeats || end == parameter) &&
         (!term.size_bytes || *term.size_bytes == sizes[end])) {
    ++end;
  }
  if (!term.repeats) return end > parameter && MatchFrom(index + 1, end, sizes, at);
  for (uint32_t next = end + 1; next-- > parameter;) {
    if (MatchFrom(index + 1, next, sizes, at)) return true;
  }
  return false;
}

}  // namespace hotproof::catalog
