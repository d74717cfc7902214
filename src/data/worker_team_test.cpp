#include "data/worker_team.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <string>

namespace troika::data {
namespace {

TEST(WorkerTeam, DoesEveryItemOnceInEveryRound) {
  for (int threads : {0, 1, 2, 5}) {
    WorkerTeam team(threads);
    EXPECT_EQ(team.threads(), static_cast<std::size_t>(std::max(1, threads)));
    std::vector<std::atomic<int>> done(100);
    for (std::int64_t count : {100, 0, 1, 50})
      team.run(count, [&](std::int64_t item, std::size_t thread) {
        EXPECT_LT(thread, team.threads());
        ++done[static_cast<std::size_t>(item)];
      });
    EXPECT_EQ(done[0], 3);
    EXPECT_EQ(done[1], 2);
    EXPECT_EQ(done[50], 1);
    EXPECT_EQ(done[99], 1);
  }
}

TEST(WorkerTeam, RethrowsTheErrorOfTheLowestItem) {
  for (int threads : {1, 2, 8}) {
    WorkerTeam team(threads);
    for (int round = 0; round < 20; ++round) {
      // The lowest that fails does so before or after the others.
      bool is_late = round % 2 == 0;
      auto fail = [&](std::int64_t item, std::size_t) {
        if (item < 3) return;
        if ((item == 3) == is_late) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        throw std::runtime_error(std::to_string(item));
      };
      try {
        team.run(20, fail);
        FAIL() << "no error";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "3") << threads << " threads";
      }
    }
    std::atomic<int> done{0};
    team.run(4, [&](std::int64_t, std::size_t) { ++done; });
    EXPECT_EQ(done, 4) << "the team works on after an error";
  }
}

TEST(WorkerTeam, SharesTheItemsAmongItsThreads) {
  WorkerTeam team(3);
  std::atomic<int> waiting{0};
  // Returns only if three threads are in it at once.
  team.run(3, [&](std::int64_t, std::size_t) {
    ++waiting;
    while (waiting < 3) std::this_thread::yield();
  });
  EXPECT_EQ(waiting, 3);
}

}  // namespace
}  // namespace troika::data
