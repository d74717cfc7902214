#include "base/json_text.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

TEST(JsonReason, SaysWhereATextStopsBeingJson) {
  EXPECT_EQ(json_reason("[json.exception.parse_error.101] parse error at line 3, column 7: syntax "
                        "error while parsing value - invalid literal; last read: 'x'"),
            "it is not JSON at line 3, column 7");
}

TEST(JsonReason, NamesAMissingKey) {
  EXPECT_EQ(json_reason("[json.exception.out_of_range.403] key 'splits' not found"),
            "it has no 'splits'");
}

TEST(JsonReason, KeepsTheLibrarysWordsToItself) {
  EXPECT_EQ(json_reason("[json.exception.type_error.302] type must be string, but is number"),
            "one of its values is of another type than expected");
}

TEST(JsonLine, CountsValuesInTheOrderOfTheText) {
  const char* text = "{\n \"a:[\\\"\": [1,\n  -2.5e3],\n \"b\": {},\n\"c\":\n\"x\", \"d\":\nnull}";
  const std::vector<std::size_t> lines{1, 2, 2, 3, 4, 6, 7};
  for (std::size_t value = 0; value < lines.size(); ++value)
    EXPECT_EQ(json_line(text, value), lines[value]) << value;
}

TEST(JsonFileFault, TakesLittleMemoryForDeepNesting) {
  std::string text = "{\"a\": " + std::string(64u << 20, '[');
  EXPECT_EQ(json_file_fault(text, 16), "it nests deeper than 16 levels at line 1, column 22");
}

TEST(JsonFileFault, RefusesMoreKeysThanTheLibraryCanReadSoon) {
  std::string text = "{\"first\": 1";
  for (int key = 0; key < 70'000; ++key) text += ",\n\"" + std::to_string(key) + "\": 1";
  EXPECT_EQ(json_file_fault(text + "}", 16),
            "it has more than 65536 keys in one object at line 65537, column 7");
}

}  // namespace
}  // namespace troika
