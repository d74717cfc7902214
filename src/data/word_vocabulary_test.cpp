#include "data/word_vocabulary.h"

#include <gtest/gtest.h>

namespace troika::data {
namespace {

constexpr std::int32_t kFirst = WordVocabulary::kMarks;

WordVocabulary counted(TextUnit unit, std::string_view text, std::int64_t limit = 100) {
  WordCount count(unit);
  count.add(text);
  return count.most_frequent(limit);
}

TEST(WordVocabulary, NumbersWordsByFrequencyBehindTheMarks) {
  WordVocabulary vocabulary = counted(TextUnit::word, "b a  a\tc b a");
  EXPECT_EQ(vocabulary.words(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(vocabulary.size(), 7);
  EXPECT_EQ(vocabulary.encode(" c a x"),
            (std::vector<std::int32_t>{kFirst + 2, kFirst, WordVocabulary::kUnknown}));
}

TEST(WordVocabulary, LeavesRareWordsOutWhereItIsFull) {
  WordVocabulary vocabulary = counted(TextUnit::word, "b a a c b a", kFirst + 2);
  EXPECT_EQ(vocabulary.words(), (std::vector<std::string>{"a", "b"}));
}

TEST(WordVocabulary, CutsIntoCharactersWhiteSpaceIncluded) {
  WordVocabulary vocabulary = counted(TextUnit::character, "ö ö");
  EXPECT_EQ(vocabulary.words(), (std::vector<std::string>{"ö", " "}));
  EXPECT_EQ(vocabulary.decode(vocabulary.encode("ö  ö")), "ö  ö");
}

TEST(WordVocabulary, DecodesUpToTheEndMarkAndNamesWhatItDoesNotKnow) {
  WordVocabulary vocabulary(TextUnit::word, {"so", "it", "goes"});
  std::vector<std::int32_t> tokens{WordVocabulary::kBegin,   kFirst,
                                   WordVocabulary::kUnknown, kFirst + 2,
                                   WordVocabulary::kEnd,     kFirst + 1};
  EXPECT_EQ(vocabulary.decode(tokens), "so <unknown> goes");
}

}  // namespace
}  // namespace troika::data
