#include "comm/move_scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <numeric>

#include "base/random.h"
#include "base/testing/counted_news.h"
#include "comm/members_test.h"
#include "comm/timed_operations_test.h"

namespace troika {
namespace {

class AnyScheduler : public testing::TestWithParam<MoverThread> {
 protected:
  MoveSchedulerOptions options{.thread = GetParam()};
};

// Each member starts and waits in an order of its own, with urgencies of its own.
TEST_P(AnyScheduler, OperationsMayBeStartedAndWaitedForInAnyOrder) {
  constexpr int kMembers = 3, kOperations = 12, kRounds = 10;
  std::vector<Recipe> recipes;
  for (int at = 0; at < kOperations; ++at) {
    const char* names[] = {"ring", "direct", "recursive_doubling", "tree"};
    recipes.push_back(all_reduce_recipe(kMembers, at * at * 400 + 1, names[at % 4]));
  }
  auto body = [&](Communicator& communicator) {
    MoveScheduler& scheduler = communicator.scheduler();
    std::vector<std::vector<float>> vectors;
    std::vector<std::unique_ptr<Operation>> operations;
    for (const Recipe& recipe : recipes) {
      vectors.emplace_back(static_cast<std::size_t>(recipe.call.count));
      operations.push_back(
          communicator.prepare(recipe, {bytes_of(vectors.back()), {}}, {.chunk = {4096}}));
    }
    for (int round = 0; round < kRounds; ++round) {
      for (std::vector<float>& vector : vectors)
        std::ranges::fill(vector, static_cast<float>(communicator.member() + round));
      RandomStream stream{.key = 5, .stream = static_cast<std::uint64_t>(communicator.member())};
      for (bool starts : {true, false}) {
        std::vector<std::size_t> order(kOperations);
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t at = order.size(); at > 1; --at)
          std::swap(order[at - 1],
                    order[stream.below(static_cast<std::uint64_t>(round * 100) + at, at)]);
        for (std::size_t at : order) {
          if (starts) {
            scheduler.start(*operations[at], static_cast<int>(at) % 3);
          } else {
            scheduler.wait(*operations[at]);
          }
        }
      }
      for (const std::vector<float>& vector : vectors)
        for (float value : vector) ASSERT_EQ(value, static_cast<float>(3 + 3 * round));
    }
  };
  run_members(kMembers, body, options);
}

TEST_P(AnyScheduler, NothingAllocatesAfterPreparation) {
  std::barrier ready(2);
  Recipe recipe = all_reduce_recipe(2, 5000, "ring");
  auto body = [&](Communicator& communicator) {
    std::vector<float> vector(5000);
    auto first = communicator.prepare(recipe, {bytes_of(vector), {}});
    std::vector<float> another(5000);
    auto second = communicator.prepare(recipe, {bytes_of(another), {}});
    MoveScheduler& scheduler = communicator.scheduler();
    ready.arrive_and_wait();
    std::int64_t before = counted_news.own + counted_news.of_libraries;
    for (int round = 0; round < 100; ++round) {
      scheduler.start(*second);
      scheduler.start(*first, 1);
      scheduler.wait(*second);
      scheduler.wait(*first);
    }
    ready.arrive_and_wait();
    EXPECT_EQ(counted_news.own + counted_news.of_libraries, before);
    ready.arrive_and_wait();
  };
  run_members(2, body, options);
}

TEST_P(AnyScheduler, AdvancingRunsTheOperationToItsEnd) {
  Recipe recipe = all_reduce_recipe(2, 300'000, "ring");
  auto body = [&](Communicator& communicator) {
    std::vector<float> vector(300'000, 1.0F);
    auto operation = communicator.prepare(recipe, {bytes_of(vector), {}});
    communicator.scheduler().start(*operation);
    while (!operation->is_done())
      if (!communicator.scheduler().advance()) std::this_thread::yield();
    EXPECT_EQ(vector.front() + vector.back(), 4.0F);
  };
  run_members(2, body, options);
}

/// A transport whose peer is lost after some messages.
class LosingTransport final : public Transport {
 public:
  std::unique_ptr<Outgoing> prepare_send(const MessageAddress&,
                                         std::span<const std::byte>) override {
    struct Lost final : Outgoing {
      void start() override {}
      bool done() override { throw Error(ErrorKind::peer, "rank 1 is gone"); }
    };
    return std::make_unique<Lost>();
  }
  std::unique_ptr<Incoming> prepare_receive(const MessageAddress&, std::span<std::byte>) override {
    struct Silent final : Incoming {
      void start() override {}
      std::byte* arrived() override { return nullptr; }
      void finish() override {}
    };
    return std::make_unique<Silent>();
  }
  bool shares_memory(DeviceId, DeviceId) const override { return false; }
  void progress() override {}
};

TEST_P(AnyScheduler, ALostPeerIsToldByTheWaitAndByEveryLaterCall) {
  LosingTransport transport;
  MoveScheduler scheduler(transport, DeviceId(std::size_t{0}), options);
  Communicator communicator(scheduler, {DeviceId(std::size_t{0}), DeviceId(std::size_t{1})});
  std::vector<float> vector(10);
  auto operation = communicator.prepare(all_reduce_recipe(2, 10, "ring"), {bytes_of(vector), {}});
  auto other = communicator.prepare(all_reduce_recipe(2, 10, "ring"), {bytes_of(vector), {}});
  scheduler.start(*operation);
  if (GetParam() != MoverThread::none)
    std::this_thread::sleep_for(5ms);  // for the other thread to find out
  EXPECT_THROW(scheduler.wait(*operation), Error);
  operation.reset();  // dropped by the scheduler, so that its owner may let go of it
  EXPECT_THROW(scheduler.advance(), Error);
  EXPECT_THROW(scheduler.start(*other), Error);
  EXPECT_THROW(scheduler.wait(*other), Error);
}

INSTANTIATE_TEST_SUITE_P(Threads, AnyScheduler,
                         testing::Values(MoverThread::none, MoverThread::own_core,
                                         MoverThread::shared_core),
                         [](const auto& mode) {
                           switch (mode.param) {
                             case MoverThread::none:
                               return "OfTheDevice";
                             case MoverThread::own_core:
                               return "OnItsOwnCore";
                             case MoverThread::shared_core:
                               return "OnTheDevicesCore";
                           }
                           return "";
                         });

class MoverThreads : public testing::TestWithParam<MoverThread> {};

TEST_P(MoverThreads, EndOperationsWhileTheDeviceIsBusy) {
  Recipe recipe = all_reduce_recipe(3, 100'000, "ring");
  std::barrier all_done(3);
  auto body = [&](Communicator& communicator) {
    std::vector<float> vector(100'000, 1.0F);
    auto operation = communicator.prepare(recipe, {bytes_of(vector), {}});
    communicator.scheduler().start(*operation);
    for (int tries = 0; tries < 10'000 && !operation->is_done(); ++tries)
      std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(operation->is_done());
    all_done.arrive_and_wait();
    EXPECT_EQ(communicator.scheduler().wait(*operation), 0ns);
    EXPECT_EQ(vector.back(), 3.0F);
  };
  run_members(3, body, {.thread = GetParam()});
}

TEST_P(MoverThreads, LetTinyOperationsStartAgainAtOnce) {
  Recipe recipe = all_reduce_recipe(2, 3, "recursive_doubling");
  auto body = [&](Communicator& communicator) {
    std::vector<float> vector(3);
    auto operation = communicator.prepare(recipe, {bytes_of(vector), {}});
    for (int round = 0; round < 20'000; ++round) {
      vector.assign(3, static_cast<float>(round + communicator.member()));
      communicator.scheduler().start(*operation);
      communicator.scheduler().wait(*operation);
      ASSERT_EQ(vector.back(), static_cast<float>(2 * round + 1)) << round;
    }
  };
  run_members(2, body, {.thread = GetParam()});
}

INSTANTIATE_TEST_SUITE_P(Cores, MoverThreads,
                         testing::Values(MoverThread::own_core, MoverThread::shared_core));

TEST(MoveScheduler, WithoutOneTheyWaitForTheDevice) {
  Recipe recipe = all_reduce_recipe(2, 100'000, "ring");
  std::barrier looked(2);
  run_members(2, [&](Communicator& communicator) {
    std::vector<float> vector(100'000, 1.0F);
    auto operation = communicator.prepare(recipe, {bytes_of(vector), {}});
    communicator.scheduler().start(*operation);
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(operation->is_done());
    looked.arrive_and_wait();
    communicator.scheduler().wait(*operation);
  });
}

TEST(MoveScheduler, TellsHowLongItReallyWaited) {
  Recipe recipe = all_reduce_recipe(2, 10, "recursive_doubling");
  run_members(2, [&](Communicator& communicator) {
    std::vector<float> vector(10, 1.0F);
    auto operation = communicator.prepare(recipe, {bytes_of(vector), {}});
    if (communicator.member() == 1) std::this_thread::sleep_for(60ms);
    auto start = Clock::now();
    std::chrono::nanoseconds waited = run_round(communicator.scheduler(), *operation);
    if (communicator.member() == 0) {
      EXPECT_GE(waited, 30ms);
    }
    EXPECT_LE(waited, Clock::now() - start);
  });
}

}  // namespace
}  // namespace troika
