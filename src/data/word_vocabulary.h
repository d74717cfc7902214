// The words of separate texts, numbered after a few marks: converts between texts and the tokens of
// a model that reads or writes them. (Characters of a running text are numbered by Vocabulary.)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troika::data {

/// The unit that a text is cut into.
enum class TextUnit {
  word,       ///< Separated by white space.
  character,  ///< Unicode code points, white space included.
};

class WordVocabulary {
 public:
  // Tokens that are not words.
  static constexpr std::int32_t kPadding = 0;
  static constexpr std::int32_t kBegin = 1;
  static constexpr std::int32_t kEnd = 2;
  static constexpr std::int32_t kUnknown = 3;
  static constexpr std::int32_t kMarks = 4;

  /// Token kMarks + i is words[i]. Precondition: no word occurs twice.
  WordVocabulary(TextUnit unit, std::vector<std::string> words);

  TextUnit unit() const { return unit_; }
  const std::vector<std::string>& words() const { return words_; }
  /// Marks included.
  std::int64_t size() const { return kMarks + static_cast<std::int64_t>(words_.size()); }

  /// A word that is not in the vocabulary becomes kUnknown. Precondition: the text is UTF-8.
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// Up to the first end mark, other marks left out; an unknown word is "<unknown>". Precondition:
  /// every token is below size().
  std::string decode(std::span<const std::int32_t> tokens) const;

  bool operator==(const WordVocabulary& other) const {
    return unit_ == other.unit_ && words_ == other.words_;
  }

 private:
  TextUnit unit_;
  std::vector<std::string> words_;
  std::map<std::string, std::int32_t, std::less<>> tokens_;
};

/// Precondition: the text is UTF-8.
void for_each_word(std::string_view text, TextUnit unit,
                   const std::function<void(std::string_view)>& visit);

/// Counts words.
class WordCount {
 public:
  explicit WordCount(TextUnit unit) : unit_(unit) {}

  /// Returns how many words the text has. Precondition: it is UTF-8.
  std::int64_t add(std::string_view text);
  /// The words by frequency, those of one frequency in the order of their bytes, until the
  /// vocabulary has `limit` tokens, marks included.
  WordVocabulary most_frequent(std::int64_t limit) const;

 private:
  TextUnit unit_;
  std::map<std::string, std::int64_t, std::less<>> counts_;
};

}  // namespace troika::data
