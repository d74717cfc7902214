#include "profile/links.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "collective/algorithms.h"
#include "profile/fit_links.h"

namespace troika {
namespace {

constexpr TimingPasses kOnePass{.least = 1, .most = 1};

TEST(Links, EveryAlgorithmOfSoManyThreadsIsMeasuredAtAscendingSizes) {
  for (int members : {2, 3}) {
    auto rows = measure_algorithms(thread_team(members, false), {{8}, {64}}, kOnePass);
    std::size_t expected = 0;
    for (const Algorithm& algorithm : algorithms()) {
      CollectiveCall call = team_call(thread_team(members, false), algorithm.kind, {8});
      if (algorithm.kind == Collective::barrier) call.count = 0;
      expected += !algorithm.why_not(call);
    }
    EXPECT_EQ(rows.size(), expected);
    for (const MeasuredAlgorithm& row : rows) {
      EXPECT_EQ(row.members, members);
      EXPECT_EQ(row.link, LinkKind::process);
      std::size_t points = row.kind == Collective::barrier      ? 1
                           : row.kind == Collective::all_reduce ? 4
                                                                : 2;
      ASSERT_EQ(row.times.points.size(), points) << row.algorithm;
      for (std::size_t at = 0; at < points; ++at) {
        EXPECT_GT(row.times.points[at].nanoseconds, 0);
        if (at == 0) continue;
        EXPECT_GT(row.times.points[at].bytes, row.times.points[at - 1].bytes);
      }
    }
  }
}

TEST(Links, WhatWasMeasuredReadsBack) {
  LinkCosts costs = assumed_link_costs();
  take_measured(costs, measure_algorithms(thread_team(2, false), {{8}, {1 << 8}}, kOnePass));
  EXPECT_GT(costs.process.alpha, 0);
  EXPECT_NE(costs.process.alpha, assumed_link_costs().process.alpha);
  EXPECT_FALSE(costs.process.message_times.empty());
  EXPECT_EQ(parse_link_costs(to_json(costs)), costs);
}

TEST(Links, ThePassesEndWithTheirTime) {
  CollectiveCall call = equal_parts(Collective::barrier, 2, 0);
  // One sample per pass: on a busy machine a slow call gets no more than that.
  auto passes_in = [&](TimingPasses passes) {
    passes.samples = 1;
    std::vector<TimedGroup> groups{{.calls = {{call, "dissemination"}}}};
    thread_team(2, false).time(groups, passes, {8});
    return groups[0].samples[0].size();
  };
  EXPECT_EQ(passes_in({.least = 2, .most = 5, .seconds = 0}), 2u);
  EXPECT_EQ(passes_in({.least = 1, .most = 4, .seconds = 60}), 4u);
}

TEST(Links, TheRooflineOfThreadsIsTimedInTurnsWithAlgorithms) {
  CollectiveCall call = equal_parts(Collective::all_reduce, 2, 1 << 18);
  std::vector<TimedGroup> groups{{.calls = {{call, std::string(kRoofline)}, {call, "direct"}}}};
  thread_team(2, true).time(groups, {.least = 3, .most = 3, .samples = 1}, {1 << 20});
  for (const std::vector<double>& samples : groups[0].samples) {
    ASSERT_EQ(samples.size(), 3u);
    for (double nanoseconds : samples) EXPECT_GT(nanoseconds, 1000) << "1 MiB takes longer";
  }
}

TEST(Links, WhatAMemberThrowsIsThrownByTheTiming) {
  CollectiveCall call = equal_parts(Collective::all_reduce, 3, 16);
  std::vector<TimedGroup> groups{{.calls = {{call, "rign"}}}};
  EXPECT_THROW(thread_team(3, false).time(groups, kOnePass, {64}), Error);
}

TEST(Links, AVectorOfNoElementsCanBeTimed) {
  CollectiveCall call = equal_parts(Collective::all_reduce, 2, 0);
  std::vector<TimedGroup> groups{{.calls = {{call, "ring"}}}};
  thread_team(2, false).time(groups, kOnePass, {});
  EXPECT_EQ(groups[0].samples[0].size(), 3u);
}

TEST(Links, TheTimeOfACallIsItsMiddleSample) {
  TimedGroup group{.calls = {{}, {}}, .samples = {{5, 1, 90}, {3}}};
  EXPECT_EQ(medians(group), (std::vector<double>{5, 3}));
}

TEST(Links, TheNoiseOfAMiddleShrinksWithTheNumberOfSamples) {
  TimedGroup group{.calls = {{}, {}, {}}, .samples = {{4, 2, 9}, {3}, {}}};
  for (int sample = 0; sample < 100; ++sample) group.samples[2].push_back(sample);
  EXPECT_EQ(noise_of_medians(group), (std::vector<double>{3.5, 0, 9.5}));
}

}  // namespace
}  // namespace troika
