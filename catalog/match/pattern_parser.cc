// Pattern text -> terms.
#include "catalog/match/pattern_terms.h"
#include "catalog/name/text.h"

namespace hotproof::catalog {

class PatternParser {
 public:
  PatternParser(std::string_view text, std::vector<std::string>* capture_names)
      : text_(text), capture_names_(capture_names) {}

  std::unique_ptr<Pattern::Term> Parse(std::string* error) {
    auto term = ParseTerm();
    SkipSpaces();
    if (error_.empty() && at_ != text_.size()) Fail("unexpected text");
    if (error_.empty() && term->kind != Pattern::Term::Kind::kName) Fail("a name is expected");
    *error = error_;
    return term;
  }

 private:
  using Term = Pattern::Term;

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Consume(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void SkipSpaces() {
    while (Peek() == ' ') ++at_;
  }
  void Fail(std::string_view what) {
    if (error_.empty()) {
      error_ = std::string(what) + " at column " + std::to_string(at_ + 1) + " of \"" +
               std::string(text_) + "\"";
    }
    at_ = text_.size();
  }

  std::unique_ptr<Term> ParseTerm() {
    SkipSpaces();
    auto term = std::make_unique<Term>();
    std::string capture;
    if (Consume("$")) {
      capture = TakeIdentifier();
      if (capture.empty()) Fail("a capture needs a name");
      capture_names_->push_back(capture);
      if (!Consume(":")) {
        term->capture = capture;
        return term;
      }
      SkipSpaces();
    }
    if (Consume("...")) {
      term->kind = Term::Kind::kRest;
    } else if (Consume("@")) {
      term->kind = Term::Kind::kType;
    } else if (Consume("#")) {
      term->kind = Term::Kind::kInteger;
    } else if (IsDigit(Peek()) || Peek() == '-') {
      const size_t begin = at_++;
      while (IsDigit(Peek())) ++at_;
      term->kind = Term::Kind::kInteger;
      term->number = std::string(text_.substr(begin, at_ - begin));
    } else if (Peek() == '(' && !text_.substr(at_).starts_with("(anonymous")) {
      ++at_;
      term->kind = Term::Kind::kInteger;
      term->type = ParseTerm();
      if (!Consume(")")) Fail("')' is expected");
      const size_t begin = at_;
      while (IsDigit(Peek())) ++at_;
      if (at_ > begin) term->number = std::string(text_.substr(begin, at_ - begin));
    } else if (Peek() == '_' && !IsIdentifierChar(at_ + 1)) {
      ++at_;
    } else {
      ParseName(term.get());
    }
    term->capture = capture;
    return term;
  }

  void ParseName(Term* term) {
    term->kind = Term::Kind::kName;
    do {
      term->components.push_back(ParseComponent());
    } while (error_.empty() && Consume("::"));
    if (term->components.size() == 1 && !term->components[0].has_args &&
        (term->components[0].identifier == "true" || term->components[0].identifier == "false")) {
      term->kind = Term::Kind::kInteger;
      term->number = term->components[0].identifier;
    }
  }

  Term::Component ParseComponent() {
    Term::Component component;
    if (Consume("**")) {
      component.any_components = true;
      return component;
    }
    if (Consume("[lambda]")) {
      component.lambda = true;
      return component;
    }
    if (Consume("{")) {
      const size_t end = text_.find('}', at_);
      if (end == std::string_view::npos) {
        Fail("'}' is expected");
        return component;
      }
      component.words = std::make_unique<WordPattern>(text_.substr(at_, end - at_));
      at_ = end + 1;
    } else if (Consume("(anonymous namespace)")) {
      component.identifier = "(anonymous namespace)";
    } else {
      component.identifier = TakeIdentifier();
      if (component.identifier.empty()) Fail("a name is expected");
    }
    if (Consume("<")) {
      component.has_args = true;
      SkipSpaces();
      while (error_.empty() && !Consume(">")) {
        component.args.push_back(ParseTerm());
        SkipSpaces();
        if (Peek() != '>' && !Consume(",")) Fail("',' or '>' is expected");
        SkipSpaces();
      }
    }
    return component;
  }

  bool IsIdentifierChar(size_t at) const {
    return at < text_.size() && (IsAlpha(text_[at]) || IsDigit(text_[at]) || text_[at] == '_');
  }
  // One word, or several as in "unsigned char".
  std::string TakeIdentifier() {
    const size_t begin = at_;
    while (IsIdentifierChar(at_) || (Peek() == ' ' && at_ > begin && IsIdentifierChar(at_ + 1)))
      ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string_view text_;
  std::vector<std::string>* capture_names_;
  size_t at_ = 0;
  std::string error_;
};

Pattern::Compiled Pattern::CompileText(std::string_view text, std::string* error) {
  Compiled compiled;
  compiled.root = PatternParser(text, &compiled.capture_names).Parse(error);
  return compiled;
}

}  // namespace hotproof::catalog
