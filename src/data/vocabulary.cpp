#include "data/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace troika::data {
namespace {

std::vector<char32_t> decode_all(std::string_view text) {
  std::vector<char32_t> characters;
  for (std::size_t at = 0; at < text.size();) {
    auto next = decode_utf8(text.substr(at));
    if (!next)
      throw Error(ErrorKind::usage,
                  fmt::format("the text is not UTF-8 at byte {}; convert it with iconv", at));
    characters.push_back(next->character);
    at += next->bytes;
  }
  return characters;
}

}  // namespace

Vocabulary::Vocabulary(std::string_view characters) : Vocabulary(decode_all(characters)) {}

Vocabulary::Vocabulary(std::vector<char32_t> characters) : characters_(std::move(characters)) {
  std::ranges::sort(characters_);
  characters_.erase(std::unique(characters_.begin(), characters_.end()), characters_.end());
  if (characters_.empty()) return;
  // A table by code point: it has at most 1.1 million entries, and a look-up is one access.
  tokens_.assign(static_cast<std::size_t>(characters_.back()) + 1, -1);
  for (std::size_t i = 0; i < characters_.size(); ++i)
    tokens_[characters_[i]] = static_cast<std::int32_t>(i);
}

std::string Vocabulary::characters() const {
  std::string text;
  for (char32_t character : characters_) append_utf8(character, text);
  return text;
}

std::int32_t Vocabulary::token(char32_t character) const {
  return character < tokens_.size() ? tokens_[character] : -1;
}

std::vector<std::int32_t> Vocabulary::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens;
  for (char32_t character : decode_all(text)) {
    tokens.push_back(token(character));
    if (tokens.back() >= 0) continue;
    std::string name;
    append_utf8(character, name);
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "the character '{}' (U+{:04X}) is not among the {} that the model was trained on; "
            "leave it out",
            name, static_cast<std::uint32_t>(character), size()));
  }
  return tokens;
}

std::string Vocabulary::decode(std::span<const std::int32_t> tokens) const {
  std::string text;
  for (std::int32_t token : tokens) {
    TROIKA_CHECK(token >= 0 && token < size(), "token out of range");
    append_utf8(characters_[static_cast<std::size_t>(token)], text);
  }
  return text;
}

}  // namespace troika::data
