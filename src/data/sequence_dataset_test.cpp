#include "data/sequence_dataset.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "data/testing/file_fixture.h"

namespace troika::data {
namespace {

std::vector<float> inputs(const Values& values) { return values.input; }

TEST(Tokens, CutsTheFileIntoSequencesWhoseTargetsAreOneLater) {
  TemporaryFolder folder;
  std::string file = folder.write("t.bin", bytes_of<std::uint16_t>({5, 6, 7, 300, 9, 10, 11, 12}));
  auto set = open("tokens:" + file, {.sequence_length = 3});
  EXPECT_EQ(set->size(), 2) << "eight tokens make two sequences of three and their targets";
  EXPECT_EQ(set->classes(), 301);
  EXPECT_EQ(set->vocabulary(), nullptr);
  EXPECT_EQ(set->fields()[0], (Field{"input", {{3}, DType::i32}}));
  EXPECT_EQ(set->fields()[1], (Field{"target", {{3}, DType::i32}}));
  EXPECT_EQ(read_sample(*set, 0), (Values{{5, 6, 7}, {6, 7, 300}}));
  EXPECT_EQ(read_sample(*set, 1), (Values{{300, 9, 10}, {9, 10, 11}}));
}

TEST(Tokens, CountsTheRangeInTokens) {
  TemporaryFolder folder;
  std::string file = folder.write("t.bin", bytes_of<std::uint16_t>({5, 6, 7, 300, 9, 10, 11, 12}));
  auto set = open("tokens:" + file + "[4:]", {.sequence_length = 3});
  EXPECT_EQ(set->size(), 1);
  EXPECT_EQ(set->classes(), 301) << "the vocabulary is that of the whole file";
  EXPECT_EQ(read_sample(*set, 0), (Values{{9, 10, 11}, {10, 11, 12}}));
}

TEST(Tokens, ChecksAGivenVocabularyAsItReads) {
  TemporaryFolder folder;
  std::string file = folder.write("t.bin", bytes_of<std::uint16_t>({1, 2, 3, 999, 4}));
  auto set = open("tokens:" + file + "?vocabulary=10", {.sequence_length = 2});
  EXPECT_EQ(set->classes(), 10);
  EXPECT_NE(error_of([&] { read_sample(*set, 1); }).find("at byte 6"), std::string::npos);
}

TEST(Text, NumbersItsCharactersInSortedOrder) {
  TemporaryFolder folder;
  auto set = open("text:" + folder.write("a.txt", "hello wörld €"), {.sequence_length = 4});
  const Vocabulary& vocabulary = *set->vocabulary();
  EXPECT_EQ(vocabulary.characters(), " dehlorwö€");
  EXPECT_EQ(set->classes(), 10);
  EXPECT_EQ(set->size(), 3);
  EXPECT_EQ(inputs(read_sample(*set, 0)), (std::vector<float>{3, 2, 4, 4}));
  EXPECT_EQ(vocabulary.decode(read_sample(*set, 2).target), "ld €");
  EXPECT_EQ(vocabulary.decode(vocabulary.encode("wörld")), "wörld");
  EXPECT_EQ(Vocabulary(vocabulary.characters()), vocabulary);
  EXPECT_NE(error_of([&] { vocabulary.encode("hex"); }).find("'x' (U+0078)"), std::string::npos);
}

TEST(Text, FindsCharactersFarIntoATextOfMixedLengths) {
  TemporaryFolder folder;
  std::string text;
  std::vector<char32_t> characters;
  for (int i = 0; i < 5000; ++i) {
    characters.push_back(std::array<char32_t, 4>{'a', 0xE9, 0x20AC, 0x1F40E}[(i * i + i / 7) % 4]);
    append_utf8(characters.back(), text);
  }
  auto set = open("text:" + folder.write("a.txt", text), {.sequence_length = 17});
  for (std::int64_t sample = 0; sample < set->size(); ++sample) {
    auto target = read_sample(*set, sample).target;
    for (std::size_t i = 0; i < target.size(); ++i)
      ASSERT_EQ(target[i], set->vocabulary()->token(
                               characters[static_cast<std::size_t>(sample) * 17 + i + 1]));
  }
}

TEST(Text, GivesRangesOfOneFileOneVocabulary) {
  TemporaryFolder folder;
  std::string file = folder.write("a.txt", "aaaaabbbbbccccc");
  auto head = open("text:" + file + "[:5]", {.sequence_length = 2});
  auto tail = open("text:" + file + "[10:]", {.sequence_length = 2});
  EXPECT_EQ(*head->vocabulary(), *tail->vocabulary());
  EXPECT_EQ(inputs(read_sample(*tail, 0)), (std::vector<float>{2, 2}));
}

TEST(Text, RefusesWhatIsNotUtf8) {
  TemporaryFolder folder;
  for (const char* bad : {"ab\xFFgh", "ab\xC3", "ab\xC0\x80", "ab\xED\xA0\x80",
                          "ab\xF4\x90\x80\x80", "ab\x80", "ab\xE2\x82"}) {
    std::string file = folder.write("bad.txt", bad);
    EXPECT_NE(error_of([&] { open("text:" + file, {.sequence_length = 1}); }).find("at byte 2"),
              std::string::npos)
        << bad;
  }
}

TEST(SequenceDataset, RefusesOptionsThatDoNotFit) {
  TemporaryFolder folder;
  std::string uri = "text:" + folder.write("a.txt", "abcd");
  EXPECT_EQ(open(uri, {.sequence_length = 3})->size(), 1);
  EXPECT_NE(error_of([&] { open(uri, {.sequence_length = 4}); }).find("4 tokens are too few"),
            std::string::npos);
  EXPECT_THROW(open(uri, {.sequence_length = 0}), Error);
  EXPECT_THROW(open(uri, {.sequence_length = 2, .augment = {"flip"}}), Error);
}

TEST(Text, ReadsShakespeare) {
  std::string folder = outside_folder("tinyshakespeare");
  if (folder.empty())
    GTEST_SKIP()
        << "The text is not here; set TROIKA_DATA to the folder that holds tinyshakespeare.";
  auto set = open("text:" + folder + "/input.txt", {.sequence_length = 64});
  EXPECT_EQ(set->classes(), 65);
  EXPECT_EQ(set->size(), (1115394 - 1) / 64);
  EXPECT_EQ(set->vocabulary()->decode(read_sample(*set, 0).target).substr(0, 13), "irst Citizen:");
}

}  // namespace
}  // namespace troika::data
