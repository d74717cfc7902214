#include "cli/prediction_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace troika::cli {
namespace {

using testing::HasSubstr;

/// Two members whose all-reduces take so many nanoseconds, by algorithm.
MemberTeam team_that_takes(const std::map<std::string, double>& times) {
  auto take_times = [times](std::vector<TimedGroup>& groups, const TimingPasses&, Bytes longest) {
    for (TimedGroup& group : groups) {
      for (const TimedCall& timed : group.calls) {
        EXPECT_LE(timed.call.count * 4, longest.count);
        double time = times.at(timed.algorithm);
        group.samples.push_back({0.95 * time, time, 1.05 * time});
      }
    }
  };
  return {.members = 2, .link = LinkKind::process, .time = take_times};
}

LinkCosts costs_that_say(const std::map<std::string, double>& times) {
  LinkCosts costs = assumed_link_costs();
  for (const auto& [algorithm, time] : times)
    costs.measured.push_back({.algorithm = algorithm, .times = {{{{8}, time}, {{1024}, time}}}});
  return costs;
}

const std::map<std::string, double> kPredicted{{"direct", 110},
                                               {"direct_streamed", 600},
                                               {"recursive_doubling", 200},
                                               {"rabenseifner", 300},
                                               {"ring", 400},
                                               {"tree", 500}};

TEST(PredictionCheck, SetsTheChosenOneAgainstTheClockAndAgainstTheQuickest) {
  std::map<std::string, double> measured = kPredicted;
  measured["direct"] = 100;
  measured["tree"] = 80;
  std::vector<CheckedSize> checked =
      check_predictions(team_that_takes(measured), {{8}, {1024}}, {}, costs_that_say(kPredicted));
  ASSERT_EQ(checked.size(), 2u);
  for (const CheckedSize& size : checked) {
    EXPECT_EQ(size.choice.algorithm, "direct");
    EXPECT_NEAR(size.error(), 0.10, 1e-9);
    EXPECT_NEAR(size.regret(), 0.25, 1e-9);
    EXPECT_NEAR(size.regret_noise(), (5 + 4) / 80.0, 1e-9);
    EXPECT_NEAR(size.regret_beyond_noise(), (20 - 9) / 80.0, 1e-9);
    EXPECT_EQ(size.choice.alternatives[size.quickest()].algorithm, "tree");
  }
  std::string text = format_checked(checked);
  EXPECT_THAT(text, HasSubstr("chosen (*): error 10.00 % at most, regret 25.00 % at most, 13.75 % "
                              "beyond the noise"));
  EXPECT_THAT(text, HasSubstr("tree, quickest"));
}

TEST(PredictionCheck, TooQuickAPredictionIsAnErrorToo) {
  std::map<std::string, double> measured = kPredicted;
  measured["direct"] = 220;
  measured["recursive_doubling"] = 250;
  auto checked =
      check_predictions(team_that_takes(measured), {{512}}, {}, costs_that_say(kPredicted));
  EXPECT_NEAR(checked[0].error(), 0.5, 1e-9);
  EXPECT_NEAR(checked[0].regret(), 0, 1e-9);
}

}  // namespace
}  // namespace troika::cli
