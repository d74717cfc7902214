// Labelled texts and pairs of texts, and sets that are read like another one.
#include <gtest/gtest.h>

#include "data/loader.h"
#include "data/testing/file_fixture.h"
#include "data/word_vocabulary.h"

namespace troika::data {
namespace {

constexpr std::int32_t kPad = WordVocabulary::kPadding, kBegin = WordVocabulary::kBegin,
                       kEnd = WordVocabulary::kEnd, kUnknown = WordVocabulary::kUnknown;

/// One field of every sample, one after the other.
template <class T>
std::vector<T> column(const Dataset& set, std::string_view field) {
  Loader loader(set, {.batch = set.size(), .purpose = Purpose::evaluate});
  std::span<const T> values = (*loader.next())[field].template as<T>();
  return {values.begin(), values.end()};
}
using Tokens = std::vector<std::int32_t>;
using Floats = std::vector<float>;

TEST(Pairs, TeachTheDecoderTheRightWordsSoFar) {
  TemporaryFolder folder;
  // By frequency and then by bytes: sources a=4, b=5, c=6; targets x=4, y=5.
  auto set = open("pairs:" + folder.write("p.tsv", "a b c\tx y\nb a\tx\r\n"));
  ASSERT_EQ(set->size(), 2);
  EXPECT_EQ(set->classes(), 6);
  EXPECT_EQ(set->encoding().words->size(), 7);
  EXPECT_EQ(column<std::int32_t>(*set, "source"), (Tokens{4, 5, 6, kEnd, 5, 4, kEnd, kPad}));
  EXPECT_EQ(column<std::int32_t>(*set, "length"), (Tokens{4, 3}));
  EXPECT_EQ(column<float>(*set, "mask"), (Floats{1, 1, 1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(column<std::int32_t>(*set, "target"), (Tokens{4, 5, kEnd, 4, kEnd, kPad}));
  EXPECT_EQ(column<std::int32_t>(*set, "input"), (Tokens{kBegin, 4, 5, kBegin, 4, kPad}));
  EXPECT_EQ(column<float>(*set, "weight"), (Floats{1, 1, 1, 1, 1, 0}));
}

TEST(Pairs, AreCutAtTheGivenLengthAndMaySplitCharacters) {
  TemporaryFolder folder;
  auto set = open("pairs:" + folder.write("p.tsv", "abc\txyz\n") + "?split=characters",
                  {.sequence_length = 2});
  EXPECT_EQ(column<std::int32_t>(*set, "source"), (Tokens{4, 5}));
  EXPECT_EQ(column<std::int32_t>(*set, "length"), (Tokens{2}));
  EXPECT_EQ(column<std::int32_t>(*set, "target"), (Tokens{4, 5}));
  EXPECT_EQ(column<std::int32_t>(*set, "input"), (Tokens{kBegin, 4}));
  EXPECT_EQ(column<float>(*set, "weight"), (Floats{1, 1}));
}

TEST(Labelled, HaveTheirClassTheirLengthAndPadding) {
  TemporaryFolder folder;
  auto set = open("labelled:" + folder.write("l.tsv", "spam\ta b\nham\ta\nspam\t\n"));
  EXPECT_EQ(set->encoding().labels, (std::vector<std::string>{"ham", "spam"}));
  EXPECT_EQ(set->classes(), 2);
  EXPECT_EQ(column<std::int32_t>(*set, "input"),
            (Tokens{kBegin, 4, 5, kBegin, 4, kPad, kBegin, kPad, kPad}));
  EXPECT_EQ(column<std::int32_t>(*set, "target"), (Tokens{1, 0, 1}));
  EXPECT_EQ(column<std::int32_t>(*set, "length"), (Tokens{3, 2, 1}));
  EXPECT_EQ(column<float>(*set, "mask"), (Floats{1, 1, 1, 1, 1, 0, 1, 0, 0}));
}

TEST(SeparateTexts, OfOneFileShareAVocabularyWhateverTheRange) {
  TemporaryFolder folder;
  std::string file = folder.write("l.tsv", "x\ta\ny\tb c d\nx\te\n");
  EXPECT_EQ(open("labelled:" + file + "[0:1]")->encoding(),
            open("labelled:" + file + "[1:]")->encoding());
}

TEST(SeparateTexts, NameTheLineThatIsWrong) {
  TemporaryFolder folder;
  auto error = [&](const std::string& scheme, const std::string& content) {
    return error_of([&] { open(scheme + ":" + folder.write("f.tsv", content)); });
  };
  EXPECT_NE(error("pairs", "a\tb\nno tab\n").find("f.tsv:2: a line must be source<tab>target"),
            std::string::npos);
  EXPECT_NE(error("pairs", "a\tb\tc\n").find("f.tsv:1: "), std::string::npos);
  EXPECT_NE(error("pairs", "a\tb\n\n").find("f.tsv:2: "), std::string::npos);
  EXPECT_NE(error("labelled", "a\tb\n\tc\n").find("f.tsv:2: a line must be label<tab>text"),
            std::string::npos);
  EXPECT_NE(error("labelled", "a\tb\xff\n").find("f.tsv:1: the line is not UTF-8"),
            std::string::npos);
  EXPECT_NE(error("labelled", "").find("is empty"), std::string::npos);
  EXPECT_EQ(error("labelled", "a\tb"), "");  // the last line may lack its end
}

TEST(SeparateTexts, RefuseKeysThatMakeNoSense) {
  TemporaryFolder folder;
  std::string name = "pairs:" + folder.write("p.tsv", "a\tb\n");
  EXPECT_THROW(open(name + "?split=letters"), Error);
  EXPECT_THROW(open(name + "?vocabulary=4"), Error);
  EXPECT_THROW(open(name + "?size=4"), Error);
  EXPECT_THROW(open(name, {.augment = {"flip"}}), Error);
}

TEST(Like, OtherTextsKeepTheVocabularyTheClassesAndTheLength) {
  TemporaryFolder folder;
  auto train = open("labelled:" + folder.write("a.tsv", "x\ta b\ny\tb\n"));
  auto test =
      open("labelled:" + folder.write("b.tsv", "y\tb q b b b\n"), {.like = train->encoding()});
  EXPECT_EQ(test->encoding(), train->encoding());
  EXPECT_EQ(column<std::int32_t>(*test, "input"), (Tokens{kBegin, 4, kUnknown}));
  EXPECT_EQ(column<std::int32_t>(*test, "target"), (Tokens{1}));
  std::string other = "labelled:" + folder.write("c.tsv", "x\ta\nz\ta\n");
  EXPECT_NE(error_of([&] {
              open(other, {.like = train->encoding()});
            }).find("c.tsv:2: the label 'z' is not known; the model knows x, y"),
            std::string::npos);
}

TEST(Like, AnotherTextKeepsTheCharactersAndTheLength) {
  TemporaryFolder folder;
  auto train = open("text:" + folder.write("a.txt", "abcabc"), {.sequence_length = 2});
  auto test = open("text:" + folder.write("b.txt", "cbcb"), {.like = train->encoding()});
  EXPECT_EQ(test->encoding(), train->encoding());
  EXPECT_EQ(read_sample(*test, 0).input, (std::vector<float>{2, 1}));
  std::string other = "text:" + folder.write("c.txt", "abxc");
  EXPECT_NE(error_of([&] { open(other, {.like = train->encoding()}); }).find("character 'x'"),
            std::string::npos);
  std::string tokens = "tokens:" + folder.write("t.bin", std::string("\7\0\1\0\2\0", 6));
  EXPECT_NE(error_of([&] {
              open(tokens, {.like = train->encoding()});
            }).find("8 classes, but the model knows 3"),
            std::string::npos);
}

TEST(Like, OtherImagesKeepTheNormalisationAndTheClasses) {
  auto train = open("digits:train?size=200");
  auto test = open("digits:test?size=20[0:2]", {.like = train->encoding()});
  EXPECT_EQ(test->encoding(), train->encoding());
  EXPECT_NE(open("digits:test?size=20[0:2]")->encoding(), train->encoding());
}

TEST(Like, RefusesSamplesOfAnotherKind) {
  TemporaryFolder folder;
  auto train = open("digits:train?size=20");
  std::string text = "text:" + folder.write("a.txt", std::string(200, 'a'));
  EXPECT_NE(error_of([&] { open(text, {.like = train->encoding()}); })
                .find("the model was trained on samples of another kind: images or features, not a "
                      "running"),
            std::string::npos);
}

TEST(Prompt, IsOneSampleReadAsTheModelExpects) {
  TemporaryFolder folder;
  auto pairs = open("pairs:" + folder.write("p.tsv", "a b c\tx y\n"));
  auto prompt = open_prompt("c\ta", pairs->encoding());
  EXPECT_EQ(prompt->size(), 1);
  EXPECT_EQ(column<std::int32_t>(*prompt, "source"), (Tokens{6, 4, kEnd, kPad}));
  auto labelled = open("labelled:" + folder.write("l.tsv", "x\ta b\n"));
  EXPECT_EQ(column<std::int32_t>(*open_prompt("b", labelled->encoding()), "input"),
            (Tokens{kBegin, 5, kPad}));
}

}  // namespace
}  // namespace troika::data
