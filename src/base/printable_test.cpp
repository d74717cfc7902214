#include "base/printable.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

TEST(Printable, EscapesWhatATerminalObeys) {
  EXPECT_EQ(printable("a\x1b[2J\ab\r\x7f"), "a\\u001b[2J\\u0007b\\u000d\\u007f");
  EXPECT_EQ(printable(std::string_view("\0x", 2)), "\\u0000x");
}

TEST(Printable, EscapesControlCharactersOfTheSecondTable) {
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\u009b2J");  // CSI in one character
}

TEST(Printable, EscapesWhatTurnsTextRound) {
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b\xe2\x81\xa6"),
            "a\\u202eb\\u2066");
}

TEST(Printable, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\x9b"
                      "2J\xff\xc3"),
            "\\x9b2J\\xff\\xc3");
  EXPECT_EQ(printable("\xc0\x8a"), "\\xc0\\x8a");           // overlong line feed
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a pair
}

TEST(Printable, KeepsTextOfAnyLanguage) {
  for (const char* text : {"plain", "Grüße", "µs → 日本語", "🐎🐎🐎"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, KeepsLinesOnlyWhereThereAreMany) {
  EXPECT_EQ(printable("a\n\tb"), "a\n\tb");
  EXPECT_EQ(printable("a\n\tb", Lines::one), "a\\u000a\\u0009b");
}

}  // namespace
}  // namespace troika
