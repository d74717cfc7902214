#include "cli/rank_log.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/testing/temporary_folder.h"

namespace troika::cli {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(RankLog, WritesNothingBehindTheLastWords) {
  TemporaryFolder folder;
  bool is_over = false;
  RankLog log(folder.path() / "rank-0", [&] { return is_over; });
  log.write(LogLevel::info, "step 1");
  is_over = true;
  log.write(LogLevel::info, "step 2");
  std::string text = text_of(folder.path() / "rank-0");
  EXPECT_NE(text.find("info: step 1\n"), text.npos);
  EXPECT_EQ(text.find("step 2"), text.npos);
}

}  // namespace
}  // namespace troika::cli
