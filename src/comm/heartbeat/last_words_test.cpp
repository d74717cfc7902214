#include "comm/heartbeat/last_words.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace troika {
namespace {

namespace fs = std::filesystem;

class LastWordsFile : public testing::Test {
 protected:
  void SetUp() override {
    folder = fs::path(testing::TempDir()) /
             testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  fs::path path() const { return folder / "logs" / "rank-3"; }
  std::string text() const {
    std::ostringstream read;
    read << std::ifstream(path()).rdbuf();
    return read.str();
  }

  fs::path folder;
};

TEST_F(LastWordsFile, IsMadeLateOnlyWhenThereIsSomethingToSay) {
  LastWords last(path(), LastWords::Opens::when_there_is_something_to_say);
  EXPECT_FALSE(fs::exists(folder));
  last.note("7 connections were dropped");
  EXPECT_EQ(text(), "7 connections were dropped\n");
}

TEST_F(LastWordsFile, HasTheSentenceAndTheCodeThatTheProcessEndsWith) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (auto opens : {LastWords::Opens::now, LastWords::Opens::when_there_is_something_to_say}) {
    // The process that ends begins the test anew, in an empty folder.
    EXPECT_EXIT(LastWords(path(), opens).leave({"the disk is full", 3}), testing::ExitedWithCode(3),
                "error: the disk is full");
    EXPECT_EQ(text(), "error: the disk is full\nexit code 3\n");
  }
}

}  // namespace
}  // namespace troika
