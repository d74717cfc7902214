#include "config/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/cluster_keys.h"
#include "config/run_keys.h"

namespace troika::config {
namespace {

using testing::HasSubstr;

TEST(ConfigReference, HasARowForEveryKeyWithItsDefaultAndRange) {
  std::string text = config_reference();
  for (const Entry& entry : list_run({}))
    EXPECT_THAT(text, HasSubstr("\n| `" + entry.path.substr(entry.path.find('.') + 1) + "` |"));
  for (const std::string& path : cluster_paths())
    EXPECT_THAT(text, HasSubstr("\n| `" + path.substr(path.find('.') + 1) + "` |"));
  EXPECT_THAT(text, HasSubstr("## [optimizer]"));
  EXPECT_THAT(text, HasSubstr("| `learning_rate` | a number above 0 | `0.05` |"));
  EXPECT_THAT(text, HasSubstr("; only with polynomial |"));
}

TEST(ConfigReference, ListsTheKeysInsideArraysAndRequiredOnes) {
  std::string text = config_reference();
  EXPECT_THAT(text, HasSubstr("| `groups[].match` | a string that is not empty | required |"));
  EXPECT_THAT(text, HasSubstr("| `plan.tensor` | an integer from 1 to 65536 | `1` |"));
  EXPECT_THAT(text, HasSubstr("## [[nodes]]"));
}

}  // namespace
}  // namespace troika::config
