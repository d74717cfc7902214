// The characters of a text, numbered: converts between text and the tokens of a character-level
// language model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troika::data {

/// Sorted distinct Unicode code points; a token is a position in that list.
class Vocabulary {
 public:
  /// The characters of a UTF-8 text, in any order, repeated or not. Throws Error(usage) when it is
  /// not UTF-8.
  explicit Vocabulary(std::string_view characters);
  /// Precondition: every entry is a code point below kCodePoints.
  explicit Vocabulary(std::vector<char32_t> characters);

  std::int64_t size() const { return static_cast<std::int64_t>(characters_.size()); }
  /// All characters as UTF-8, in order, as a checkpoint stores them; the first constructor reads
  /// this back.
  std::string characters() const;
  /// The token of a character, or -1.
  std::int32_t token(char32_t character) const;

  /// Throws Error(usage) naming the first character that is not in the vocabulary, or is not UTF-8.
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// Precondition: 0 <= token < size().
  std::string decode(std::span<const std::int32_t> tokens) const;

  bool operator==(const Vocabulary&) const = default;

 private:
  std::vector<char32_t> characters_;
  std::vector<std::int32_t> tokens_;  // By code point, up to the largest in use.
};

}  // namespace troika::data
