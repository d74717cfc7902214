#include "optim/match.h"

#include <gtest/gtest.h>

#include <vector>

namespace troika {
namespace {

TEST(Matches, WithoutWildcardsTheWholeNameMustBeEqual) {
  EXPECT_TRUE(matches("fc.weight", "fc.weight"));
  EXPECT_FALSE(matches("fc.weight", "fc.weight2"));
  EXPECT_FALSE(matches("fc.weight", "1fc.weight"));
  EXPECT_FALSE(matches("", "fc"));
  EXPECT_TRUE(matches("", ""));
}

TEST(Matches, AStarStandsForAnyCharactersDotsAndNoneIncluded) {
  EXPECT_TRUE(matches("*.bias", "features.0.bias"));
  EXPECT_FALSE(matches("*.bias", "features.0.bias.weight"));
  EXPECT_FALSE(matches("*.bias", "bias"));
  EXPECT_TRUE(matches("features.*", "features.0.conv.weight"));
  EXPECT_FALSE(matches("features.*", "classifier.features.0"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*", "a"));
}

TEST(Matches, SeveralStarsTryAgainFurtherOn) {
  EXPECT_TRUE(matches("*.norm*.weight", "block.3.norm.norm2.weight"));
  EXPECT_FALSE(matches("*.norm*.weight", "block.3.norm2.bias"));
  EXPECT_TRUE(matches("*aab*", "aaaaab"));
}

TEST(Matches, AQuestionMarkStandsForExactlyOneCharacter) {
  EXPECT_TRUE(matches("conv?.weight", "conv1.weight"));
  EXPECT_FALSE(matches("conv?.weight", "conv.weight"));
  EXPECT_FALSE(matches("conv?.weight", "conv12.weight"));
}

TEST(Matches, ManyStarsDoNotTakeExponentialTime) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "a*";
  EXPECT_FALSE(matches(pattern + "b", std::string(2000, 'a')));
}

}  // namespace
}  // namespace troika
