// Whatever the bytes, a run file is read or refused with a usage error: no crash, no hang, no other
// exception.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/testing/sample_run.h"

namespace troika::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string repeat(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(MalformedRun, EveryTruncationIsReadOrRefused) {
  int refused = 0;
  for (std::size_t length = 0; length < kFullRun.size(); ++length)
    refused += errors_of(kFullRun.substr(0, length)).empty() ? 0 : 1;
  EXPECT_GT(refused, static_cast<int>(kFullRun.size() / 2));
}

TEST(MalformedRun, EveryChangedByteIsReadOrRefused) {
  int refused = 0;
  std::string text(kFullRun);
  for (std::size_t at = 0; at < text.size(); ++at) {
    char original = text[at];
    for (char changed : {char(original ^ 0x01), char(original ^ 0x20), char(original ^ 0x80),
                         char(~original), '\0', '\n', '"', '[', '.'}) {
      text[at] = changed;
      refused += errors_of(text).empty() ? 0 : 1;
    }
    text[at] = original;
  }
  EXPECT_GT(refused, static_cast<int>(text.size()));
}

TEST(MalformedRun, EveryChangedByteOfAnOverrideIsReadOrRefused) {
  std::string argument = "optimizer.groups=[{ match = \"*.bias\", weight_decay = 0.5 }]";
  for (std::size_t at = 0; at < argument.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = argument;
      changed[at] = static_cast<char>(byte);
      errors_of(kSmallRun, {changed});
    }
  }
}

TEST(MalformedRun, DeepNestingIsRefusedBeforeTheStackEnds) {
  const int many = 20000;
  for (const std::string& text :
       {repeat("[", many), "a = " + repeat("[", many), "a = " + repeat("{a=", many),
        repeat("a.", many) + "a = 1", "[" + repeat("a.", many) + "a]",
        "[[" + repeat("a.", many) + "a]]", "a = " + repeat("[\n", many),
        "a = " + repeat("{ a.b.c = [\n", many / 8)}) {
    EXPECT_THAT(errors_of(text), ElementsAre(HasSubstr("nested deeper than")));
  }
  EXPECT_THAT(errors_of(kSmallRun, {"a=" + repeat("[", many)}),
              ElementsAre(HasSubstr("nested deeper than")));
  EXPECT_EQ(errors_of(kSmallRun, {repeat("a.", many) + "a=1"}).size(), 1u);
}

TEST(MalformedRun, OversizedTextIsRefused) {
  EXPECT_THAT(errors_of(std::string(kLargestText + 1, ' ')),
              ElementsAre(HasSubstr("longer than 256 KiB")));
}

TEST(MalformedRun, LargeTextEndsSoon) {
  EXPECT_FALSE(errors_of(repeat("[x]\n", 60000)).empty());
  std::string keys = "[train]\n";
  for (int i = 0; keys.size() < 200000; ++i) keys += "key_number_" + std::to_string(i) + " = 1\n";
  EXPECT_GT(errors_of(keys).size(), 8000u);
}

TEST(MalformedRun, MessagesStayOnOneLineWhateverTheKey) {
  auto errors =
      errors_of(small_run_with("\"a\\nb\" = 1\n\"" + std::string(5000, 'k') + "\" = 1\n"));
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_THAT(errors[0], HasSubstr("run.toml:7:1: error: unknown key 'a?b' in [train]"));
  EXPECT_LT(errors[1].size(), 200u);
}

}  // namespace
}  // namespace troika::config
