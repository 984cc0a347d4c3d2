#include "catalog/match/pattern_index.h"

namespace hotproof::catalog {

void PatternIndex::Positions::Insert(size_t position) {
  if (position / 64 >= blocks_.size()) blocks_.resize(position / 64 + 1);
  blocks_[position / 64] |= uint64_t{1} << (position % 64);
}

void PatternIndex::Positions::Insert(const Positions& others) {
  if (others.blocks_.size() > blocks_.size()) blocks_.resize(others.blocks_.size());
  for (size_t i = 0; i < others.blocks_.size(); ++i) blocks_[i] |= others.blocks_[i];
}

void PatternIndex::Add(const Pattern& pattern, size_t entry) {
  const size_t position = patterns_.size();
  patterns_.push_back({&pattern, entry});
  const Pattern::Requirement& requirement = pattern.requirement();
  const auto add_to = [&](Map& map) {
    for (const uint64_t hash : requirement.hashes) map[hash].Insert(position);
  };
  switch (requirement.kind) {
    case Pattern::Requirement::Kind::kNothing:
      always_.Insert(position);
      return;
    case Pattern::Requirement::Kind::kIdentifier:
      return add_to(by_identifier_);
    case Pattern::Requirement::Kind::kWord:
      return add_to(by_word_);
    case Pattern::Requirement::Kind::kOutermostScope:
      return add_to(by_outermost_scope_);
  }
}

PatternIndex::Positions PatternIndex::Candidates(const Node& function, WordCache& words) const {
  Positions found = always_;
  const auto look_up = [&found](const Map& map, uint64_t hash) {
    if (const auto known = map.find(hash); known != map.end()) found.Insert(known->second);
  };
  const uint64_t identifier = HashOf(function.text);
  look_up(by_identifier_, identifier);
  if (!by_word_.empty()) {
    for (const Word& word : words.Words(function)) look_up(by_word_, word.hash);
  }
  if (!by_outermost_scope_.empty()) {
    const Node* outermost = &function;
    while (outermost->scope != nullptr) outermost = outermost->scope;
    look_up(by_outermost_scope_, outermost == &function ? identifier : HashOf(outermost->text));
  }
  return found;
}

}  // namespace hotproof::catalog
