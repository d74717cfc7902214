#include "cli/comm_trial.h"

#include <gtest/gtest.h>

#include "collective/algorithms.h"

namespace troika::cli {
namespace {

CommCase make_case(Collective kind, int devices, std::int64_t bytes, const char* algorithm) {
  return {{bytes}, algorithm, make_recipe(equal_parts(kind, devices, bytes / 4), algorithm)};
}

TEST(CommTrial, TimesEveryCaseAndItsRooflineOncePerRepeat) {
  CommTrial trial{.cases = {make_case(Collective::all_reduce, 2, 8, "recursive_doubling"),
                            make_case(Collective::all_reduce, 2, 1 << 20, "direct")},
                  .repeats = 3};
  CommTrialResult result = time_on_threads(trial);
  ASSERT_EQ(result.cases.size(), 2u);
  ASSERT_EQ(result.rooflines.size(), 2u);
  for (const auto& list : {result.cases, result.rooflines}) {
    for (const CommTimes& times : list) {
      ASSERT_EQ(times.repeats.size(), 3u);
      for (double microseconds : times.repeats) EXPECT_GT(microseconds, 0);
    }
  }
}

TEST(CommTrial, OnlyAnAllReduceHasARoofline) {
  CommTrial trial{.cases = {make_case(Collective::all_to_all, 3, 1200, "pairwise")}, .repeats = 2};
  CommTrialResult result = time_on_threads(trial);
  EXPECT_EQ(result.cases[0].repeats.size(), 2u);
  EXPECT_TRUE(result.rooflines.empty());
}

}  // namespace
}  // namespace troika::cli
