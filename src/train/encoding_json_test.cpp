#include "train/encoding_json.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace troika {
namespace {

TEST(EncodingJson, ReadsBackWhatItWrote) {
  data::Encoding images{
      .fields = {{"input", {{3, 4, 5}, DType::f32}}, {"target", {{}, DType::i32}}},
      .classes = 7,
      .normalization = data::Normalization{{0.1F, 1e-7F}, {0.3F, 2}},
      .labels = {"cat", "dog \"x\""}};
  data::Encoding text{.fields = {{"input", {{8}, DType::i32}}},
                      .classes = 4,
                      .characters = data::Vocabulary("a\nö"),
                      .masked = true};
  data::Encoding pairs{.fields = {{"source", {{8}, DType::i32}}},
                       .classes = 6,
                       .words = data::WordVocabulary(data::TextUnit::word, {"a", "b"}),
                       .target_words = data::WordVocabulary(data::TextUnit::character, {"ß", " "})};
  data::Encoding table{.fields = {{"input", {{2}, DType::f32}}, {"target", {{1}, DType::f32}}},
                       .normalization = data::Normalization{{1, 2e9F}, {3, 1e-9F}},
                       .target_normalization = data::Normalization{{2e5F, 3}, {7e4F}},
                       .columns = {"age", "größe, \"m\""},
                       .targets = {"price"}};
  for (const data::Encoding& encoding : {images, text, pairs, table, data::Encoding{}})
    EXPECT_EQ(parse_encoding(to_json(encoding)), encoding) << to_json(encoding);
}

TEST(EncodingJson, RefusesWhatIsNone) {
  EXPECT_THROW(parse_encoding("{}"), Error);
  EXPECT_THROW(parse_encoding("["), Error);
}

}  // namespace
}  // namespace troika
