#include "data/word_vocabulary.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace troika::data {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";

}  // namespace

void for_each_word(std::string_view text, TextUnit unit,
                   const std::function<void(std::string_view)>& visit) {
  if (unit == TextUnit::character) {
    while (auto next = decode_utf8(text)) {
      visit(text.substr(0, next->bytes));
      text.remove_prefix(next->bytes);
    }
    return;
  }
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kWhiteSpace), text.size()));
    if (text.empty()) return;
    std::size_t end = std::min(text.find_first_of(kWhiteSpace), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(end);
  }
}

WordVocabulary::WordVocabulary(TextUnit unit, std::vector<std::string> words)
    : unit_(unit), words_(std::move(words)) {
  for (std::size_t at = 0; at < words_.size(); ++at)
    // The first tokens are padding, marks and the unknown word.
    tokens_.emplace(words_[at], kMarks + static_cast<std::int32_t>(at));
  TROIKA_CHECK_EQ(tokens_.size(), words_.size());
}

std::vector<std::int32_t> WordVocabulary::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens;
  for_each_word(text, unit_, [&](std::string_view word) {
    auto found = tokens_.find(word);
    tokens.push_back(found == tokens_.end() ? kUnknown : found->second);
  });
  return tokens;
}

std::string WordVocabulary::decode(std::span<const std::int32_t> tokens) const {
  std::string text;
  for (std::int32_t token : tokens) {
    if (token == kEnd) break;
    if (token < kUnknown) continue;
    if (unit_ == TextUnit::word && !text.empty()) text += ' ';
    text += token == kUnknown ? "<unknown>" : words_.at(static_cast<std::size_t>(token - kMarks));
  }
  return text;
}

std::int64_t WordCount::add(std::string_view text) {
  std::int64_t words = 0;
  for_each_word(text, unit_, [&](std::string_view word) {
    ++words;
    auto found = counts_.find(word);
    if (found == counts_.end()) found = counts_.emplace(word, 0).first;
    ++found->second;
  });
  return words;
}

WordVocabulary WordCount::most_frequent(std::int64_t limit) const {
  std::vector<std::pair<std::int64_t, std::string>> order;
  // Equally frequent words are ordered by their bytes, so that the same text always gives the same
  // vocabulary.
  for (const auto& [word, count] : counts_) order.emplace_back(-count, word);
  std::ranges::sort(order);
  auto most = std::max<std::int64_t>(0, limit - WordVocabulary::kMarks);
  if (std::ssize(order) > most) order.resize(static_cast<std::size_t>(most));
  std::vector<std::string> words;
  for (auto& [count, word] : order) words.push_back(std::move(word));
  return WordVocabulary(unit_, std::move(words));
}

}  // namespace troika::data
