#include "cli/text_table.h"

#include <gtest/gtest.h>

#include <limits>

namespace troika::cli {
namespace {

TEST(TextTable, SetsValuesOfFactsBelowEachOther) {
  EXPECT_EQ(format_facts({{"model", "lenet"}, {"global batch", "64"}}),
            "  model         lenet\n  global batch  64\n");
}

TEST(TextTable, SetsNamesLeftAndFiguresRight) {
  EXPECT_EQ(format_rows({{"operator", "ms"}, {"linear", "12.5"}, {"bias", "1"}}),
            "  operator    ms\n  linear    12.5\n  bias         1\n");
}

TEST(TextTable, SetsTheColumnsLeftThatItIsTold) {
  EXPECT_EQ(format_rows({{"ms", "why"}, {"12.5", "slow link"}, {"1", "a"}}, {1}),
            "    ms  why\n  12.5  slow link\n     1  a\n");
}

TEST(TextTable, JoinsNeighbouringNumbers) {
  EXPECT_EQ(ranges_text({0, 1, 2, 5, 7, 8, 3}, 9), "0-2, 5, 7-8, 3");
  EXPECT_EQ(ranges_text({0, 2, 4}, 2), "0, 2, ...");
  EXPECT_EQ(ranges_text({0, 2}, 2), "0, 2");
  EXPECT_EQ(ranges_text({}, 2), "");
}

TEST(TextTable, GroupsDigitsByThree) {
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(-1234567), "-1,234,567");
}

TEST(TextTable, WritesDurationsAsPeopleDo) {
  EXPECT_EQ(duration(3.14), "3.1 s");
  EXPECT_EQ(duration(59.4), "59 s");
  EXPECT_EQ(duration(59.6), "1 min 0 s");
  EXPECT_EQ(duration(3725), "1 h 2 min");
  EXPECT_EQ(duration(std::numeric_limits<double>::infinity()), "unknown");
}

TEST(TextTable, AlignsLettersOfSeveralBytes) {
  EXPECT_EQ(format_rows({{"class", "samples"}, {"grün", "7"}, {"cat", "12"}}),
            "  class  samples\n"
            "  grün         7\n"
            "  cat         12\n");
  EXPECT_EQ(format_facts({{"größe", "1"}, {"height", "2"}}), "  größe   1\n  height  2\n");
  EXPECT_EQ(format_rows({{"猫", "1"}, {"dog", "2"}}), "  猫   1\n  dog  2\n");
}

}  // namespace
}  // namespace troika::cli
