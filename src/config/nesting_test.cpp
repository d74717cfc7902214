#include "config/nesting.h"

#include <gtest/gtest.h>

#include <string>

namespace troika::config {
namespace {

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(FindDeepNesting, PointsAtTheFirstBracketTooMany) {
  EXPECT_FALSE(find_deep_nesting("a = " + repeated("[", kDeepestBrackets)));
  auto deep = find_deep_nesting("x = 1\na = " + repeated("[", kDeepestBrackets + 1));
  ASSERT_TRUE(deep);
  EXPECT_EQ(deep->line, 2u);
  EXPECT_EQ(deep->column, 5u + kDeepestBrackets + 1);
}

TEST(FindDeepNesting, CountsNestedNotSuccessiveBrackets) {
  EXPECT_FALSE(find_deep_nesting(repeated("[a]\nb = [[1], [2]]\n", 1000)));
}

TEST(FindDeepNesting, CountsTheDotsOfOneKey) {
  EXPECT_FALSE(find_deep_nesting(repeated("a.b.c = 1.5\n", 1000)));
  EXPECT_FALSE(find_deep_nesting("a = [" + repeated("0.5, ", 1000) + "]"));
  EXPECT_TRUE(find_deep_nesting(repeated("a.", kMostDots + 1) + "a = 1"));
  EXPECT_TRUE(find_deep_nesting("[" + repeated("a . ", kMostDots + 1) + "a]"));
}

TEST(FindDeepNesting, SkipsStringsAndComments) {
  std::string many = repeated("[", 100);
  EXPECT_FALSE(find_deep_nesting("# " + many + "\na = \"" + many + "\"\nb = '" + many + "'"));
  EXPECT_FALSE(find_deep_nesting("a = \"\"\"\n" + many + "\"\" \\\"\"\" \n" + many + "\"\"\""));
  EXPECT_FALSE(find_deep_nesting("a = '''\n" + many + "\n'' \\'''"));
}

TEST(FindDeepNesting, IsNotFooledByWhatLooksLikeAString) {
  std::string many = repeated("[", 100);
  EXPECT_TRUE(find_deep_nesting("a = \"\\\\\" \nb = " + many));
  EXPECT_TRUE(find_deep_nesting("a = ['\\', " + many));
  EXPECT_TRUE(find_deep_nesting("a = \"\"\"x\"\"\"\"\"\nb = " + many));
  EXPECT_TRUE(find_deep_nesting("a = \"]]]]\"\nb = " + many));
  EXPECT_TRUE(find_deep_nesting("# it's \"\nb = " + many));
}

}  // namespace
}  // namespace troika::config
