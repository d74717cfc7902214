#include "checkpoint/retention.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "checkpoint/marker.h"
#include "checkpoint/testing/sample_checkpoint.h"

namespace troika {
namespace {

using Steps = std::vector<std::int64_t>;

class Retention : public testing::Test {
 protected:
  void save(const Steps& steps) {
    for (std::int64_t step : steps) save_checkpoint(checkpoints_, sample_snapshot(step));
  }
  void damage(std::int64_t step) {
    write_text(step_folder(checkpoints_, step) / "index.json", "{}");
  }
  std::filesystem::path folder_of(std::int64_t step) const {
    return step_folder(checkpoints_, step);
  }

  TemporaryFolder folder_;
  std::filesystem::path checkpoints_ = folder_.path() / "checkpoints";
};

TEST_F(Retention, FindsNothingWhereNothingWasSaved) {
  EXPECT_FALSE(find_newest_checkpoint(checkpoints_).has_value());
  EXPECT_FALSE(find_best_checkpoint(checkpoints_).has_value());
}

TEST_F(Retention, FindsTheLatestWithoutAWarning) {
  save({9, 10});
  const auto found = find_newest_checkpoint(checkpoints_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->folder, folder_of(10));
  EXPECT_EQ(found->warning, "");
}

TEST_F(Retention, WithoutLatestTheHighestStepIsFoundWithAWarning) {
  save({9, 10});
  std::filesystem::remove(checkpoints_ / "latest");
  const auto found = find_newest_checkpoint(checkpoints_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->folder, folder_of(10));
  EXPECT_NE(found->warning.find("latest' is missing"), std::string::npos) << found->warning;
}

TEST_F(Retention, ADamagedLatestCheckpointIsPassedOverWithAWarning) {
  save({8, 9, 10});
  damage(10);
  damage(9);
  const auto found = find_newest_checkpoint(checkpoints_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->folder, folder_of(8));
  EXPECT_NE(found->warning.find("step-10/index.json"), std::string::npos) << found->warning;
  EXPECT_NE(found->warning.find("step-8', the newest intact one"), std::string::npos)
      << found->warning;
}

TEST_F(Retention, WhenNoneIsWholeItIsAnErrorAndNotAFreshStart) {
  save({1, 2});
  damage(1);
  damage(2);
  EXPECT_THROW((void)find_newest_checkpoint(checkpoints_), Error);
  std::filesystem::remove_all(folder_of(1));
  std::filesystem::remove_all(folder_of(2));
  EXPECT_THROW((void)find_newest_checkpoint(checkpoints_), Error);
}

TEST_F(Retention, ARewoundRunGoesOnFromWhereItWasAndMentionsTheLaterCheckpoint) {
  save({30, 10, 20});
  const auto found = find_newest_checkpoint(checkpoints_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->folder, folder_of(20));
  EXPECT_NE(found->warning.find("step-30"), std::string::npos) << found->warning;
  damage(20);
  EXPECT_EQ(find_newest_checkpoint(checkpoints_)->folder, folder_of(10));
}

TEST_F(Retention, OnlyNamesThatSaveGivesAreSteps) {
  save({7});
  for (const char* name : {"step-007", "step-", "step-x", "step--1", "step-8.partial-1",
                           "step-99999999999999999999"}) {
    std::filesystem::create_directory(checkpoints_ / name);
  }
  EXPECT_EQ(list_steps(checkpoints_), (Steps{7}));
}

TEST_F(Retention, KeepsTheNewestAndTheBest) {
  save({1, 2, 3, 9, 10, 11});
  mark_best_checkpoint(checkpoints_, 2);
  EXPECT_EQ(retain_checkpoints(checkpoints_, 2), "");
  EXPECT_EQ(list_steps(checkpoints_), (Steps{11, 10, 2}));
  EXPECT_EQ(find_best_checkpoint(checkpoints_), folder_of(2));
}

TEST_F(Retention, ARunThatContinuesFromTheBestCheckpointHasItAsItsLatest) {
  save({1, 2, 3});
  mark_best_checkpoint(checkpoints_, 2);
  rewind_to_best_checkpoint(checkpoints_);
  ASSERT_TRUE(find_newest_checkpoint(checkpoints_));
  EXPECT_EQ(find_newest_checkpoint(checkpoints_)->folder, folder_of(2));
}

TEST_F(Retention, ABestAmongTheNewestTakesNoExtraPlace) {
  save({1, 2, 3});
  mark_best_checkpoint(checkpoints_, 3);
  EXPECT_EQ(retain_checkpoints(checkpoints_, 2), "");
  EXPECT_EQ(list_steps(checkpoints_), (Steps{3, 2}));
}

TEST_F(Retention, AfterARewindTheJustSavedCheckpointIsKept) {
  save({10, 20, 30, 11});
  EXPECT_EQ(retain_checkpoints(checkpoints_, 1), "");
  EXPECT_EQ(list_steps(checkpoints_), (Steps{30, 20, 11}));
}

TEST_F(Retention, WithADamagedBestFileNothingIsRemoved) {
  save({1, 2, 3});
  mark_best_checkpoint(checkpoints_, 1);
  write_text(checkpoints_ / "best", "step-3");
  EXPECT_NE(retain_checkpoints(checkpoints_, 1).find("best' is damaged"), std::string::npos);
  EXPECT_EQ(list_steps(checkpoints_), (Steps{3, 2, 1}));
  EXPECT_THROW((void)find_best_checkpoint(checkpoints_), Error);
}

}  // namespace
}  // namespace troika
