// What waiting costs: with more devices than cores, and behind compute.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>

#include "base/cores.h"
#include "comm/members_test.h"
#include "comm/timed_operations_test.h"

namespace troika {
namespace {

// With nothing but spinning, four devices on two cores need about 8 ms for 8 bytes.
Microseconds crowded_time() {
  constexpr int kMembers = 8, kRounds = 20;
  Recipe recipe = all_reduce_recipe(kMembers, 2, "recursive_doubling");
  Microseconds best = 1h;
  run_members(kMembers, [&](Communicator& communicator) {
    std::vector<float> vector(2, 0.0F);
    auto operation = communicator.prepare(recipe, {bytes_of(vector), {}});
    for (int batch = 0; batch < 20; ++batch) {
      auto start = Clock::now();
      for (int round = 0; round < kRounds; ++round) wait_for(*operation, 0);
      Microseconds once = (Clock::now() - start) / kRounds;
      if (communicator.member() == 0) best = std::min(best, once);
    }
  });
  return best;
}

TEST(Waiting, ManyDevicesOnFewCoresNeedMicroseconds) {
  constexpr Microseconds kLimit = 500us;
  Microseconds best = crowded_time();
  if (!kTimesCount) GTEST_SKIP() << "times of instrumented code";
  for (int tries = 0; tries < 5 && best > kLimit; ++tries) {
    if (cores_are_busy()) GTEST_SKIP() << "other programs have the cores";
    best = crowded_time();
  }
  EXPECT_LT(best.count(), kLimit.count());
}

/// What of an all-reduce of 4 MiB is not hidden behind `compute`, as a share of its time alone:
/// both compute threads on one core, both that run moves on the other.
double exposed_share() {
  constexpr std::int64_t kCount = 1 << 20;
  Recipe recipe = all_reduce_recipe(2, kCount, "direct");
  std::barrier together(2);
  std::vector<int> cores = usable_cores();
  double shares[2] = {};
  ThreadTransport transport;
  std::vector<DeviceId> devices{DeviceId(std::size_t{0}), DeviceId(std::size_t{1})};
  auto body = [&](DeviceId device) {
    bind_to_core(1, cores);  // inherited by the progress's thread
    MoveProgress progress(transport, device, {.has_thread = true});
    bind_to_core(0, cores);
    Communicator communicator(progress, devices);
    std::vector<float> vector(kCount);
    auto operation = communicator.prepare(recipe, {bytes_of(vector), {}});
    Microseconds alone = 1h;
    for (int tries = 0; tries < 5; ++tries) {
      together.arrive_and_wait();
      auto start = Clock::now();
      wait_for(*operation, 0);
      alone = std::min<Microseconds>(alone, Clock::now() - start);
    }
    together.arrive_and_wait();
    operation->start();
    for (auto start = Clock::now(); Clock::now() - start < 20 * alone;) continue;
    auto start = Clock::now();
    operation->wait();
    shares[device.value] = Microseconds(Clock::now() - start) / alone;
  };
  {
    std::jthread first([&] { body(devices[0]); }), second([&] { body(devices[1]); });
  }
  return std::max(shares[0], shares[1]);
}

TEST(Overlap, NineTenthsOfALargeAllReduceAreHiddenBehindCompute) {
  if (!kTimesCount) GTEST_SKIP() << "times of instrumented code";
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two cores";
  double best = exposed_share();
  for (int tries = 0; tries < 10 && best > 0.1; ++tries) {
    if (tries > 5 && cores_are_busy()) GTEST_SKIP() << "other programs have the cores";
    best = std::min(best, exposed_share());
  }
  EXPECT_LE(best, 0.1);
}

}  // namespace
}  // namespace troika
