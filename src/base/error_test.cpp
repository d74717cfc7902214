#include "base/error.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

TEST(Error, GainsContextOutermostFirst) {
  Error error = Error(ErrorKind::file, "truncated").within("tensor 'w'").within("step-3");
  EXPECT_STREQ(error.what(), "step-3: tensor 'w': truncated");
  EXPECT_EQ(error.exit_code(), 3);
}

TEST(Check, ShowsBothValues) {
  int three = 3;
  try {
    TROIKA_CHECK_EQ(three, 4);
    FAIL() << "the check passed";
  } catch (const Bug& bug) {
    EXPECT_NE(std::string(bug.what()).find("3 vs 4"), std::string::npos) << bug.what();
  }
}

TEST(Check, CarriesItsExplanation) {
  EXPECT_THROW(TROIKA_CHECK(false, "operator 'fc1' has no tile"), Bug);
  EXPECT_NO_THROW(TROIKA_CHECK(true));
}

}  // namespace
}  // namespace troika
