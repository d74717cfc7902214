#include "base/suggest.h"

#include <gtest/gtest.h>

#include <vector>

namespace troika {
namespace {

TEST(EditDistance, CountsEachKindOfTypingErrorOnce) {
  EXPECT_EQ(edit_distance("rate", "rate"), 0u);
  EXPECT_EQ(edit_distance("rat", "rate"), 1u);
  EXPECT_EQ(edit_distance("ratee", "rate"), 1u);
  EXPECT_EQ(edit_distance("rote", "rate"), 1u);
  EXPECT_EQ(edit_distance("raet", "rate"), 1u);
  EXPECT_EQ(edit_distance("", "rate"), 4u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Closest, PicksTheNearestAndRefusesTheFarAway) {
  std::vector<std::string> words{"learning_rate", "momentum", "name"};
  EXPECT_EQ(closest("learning_rat", words), "learning_rate");
  EXPECT_EQ(closest("nmae", words), "name");
  EXPECT_EQ(closest("colour", words), std::nullopt);
  EXPECT_EQ(closest(std::string(10000, 'x'), words), std::nullopt);
}

}  // namespace
}  // namespace troika
