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

}  // namespace
}  // namespace troika
