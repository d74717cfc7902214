#include "base/number_text.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace troika {
namespace {

TEST(NumberText, ParsesWholeTextsOnly) {
  EXPECT_EQ(parse_number<std::int64_t>("-12"), -12);
  EXPECT_EQ(parse_number<std::int64_t>("+12"), 12);
  EXPECT_EQ(parse_number<double>("+1.5e3"), 1500.0);
  for (const char* text :
       {"", "+", "+-1", "++1", " 1", "1 ", "3.0", "0x10", "99999999999999999999"})
    EXPECT_FALSE(parse_number<std::int64_t>(text)) << text;
  for (const char* text : {"", "+", "+-1", "1,5", "one"})
    EXPECT_FALSE(parse_number<double>(text)) << text;
}

TEST(NumberText, TakesANumberOffTheFront) {
  std::string_view text = "+10 epochs";
  EXPECT_EQ(take_number<double>(text), 10.0);
  EXPECT_EQ(text, " epochs");
  EXPECT_FALSE(take_number<double>(text));
  EXPECT_EQ(text, " epochs") << "unchanged";
}

}  // namespace
}  // namespace troika
