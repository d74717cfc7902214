#include "comm/move_progress.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <fstream>
#include <numeric>

#include "base/counted_news.h"
#include "base/random.h"
#include "comm/host_block.h"
#include "comm/members_test.h"

namespace troika {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

#ifdef __SANITIZE_THREAD__
constexpr bool kTimesCount = false;  // instrumented code keeps no time limits
#else
constexpr bool kTimesCount = true;
#endif

void wait_for(Operation& operation, int urgency) {
  operation.start(urgency);
  operation.wait();
}

class AnyProgress : public testing::TestWithParam<bool> {
 protected:
  MoveProgressOptions options{.has_thread = GetParam()};
};

// Each member starts and waits in an order of its own, with urgencies of its own.
TEST_P(AnyProgress, OperationsMayBeStartedAndWaitedForInAnyOrder) {
  constexpr int kMembers = 3, kOperations = 12, kRounds = 10;
  std::vector<Recipe> recipes;
  for (int at = 0; at < kOperations; ++at) {
    const char* names[] = {"ring", "direct", "recursive_doubling", "tree"};
    recipes.push_back(all_reduce_recipe(kMembers, at * at * 400 + 1, names[at % 4]));
  }
  auto body = [&](Communicator& communicator) {
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
            operations[at]->start(static_cast<int>(at) % 3);
          } else {
            operations[at]->wait();
          }
        }
      }
      for (const std::vector<float>& vector : vectors)
        for (float value : vector) ASSERT_EQ(value, static_cast<float>(3 + 3 * round));
    }
  };
  run_members(kMembers, body, options);
}

TEST_P(AnyProgress, NothingAllocatesAfterPreparation) {
  std::barrier ready(2);
  Recipe recipe = all_reduce_recipe(2, 5000, "ring");
  auto body = [&](Communicator& communicator) {
    std::vector<float> vector(5000);
    auto first = communicator.prepare(recipe, {bytes_of(vector), {}});
    std::vector<float> another(5000);
    auto second = communicator.prepare(recipe, {bytes_of(another), {}});
    ready.arrive_and_wait();
    std::int64_t before = counted_news.own + counted_news.of_libraries;
    for (int round = 0; round < 100; ++round) {
      second->start();
      first->start(1);
      second->wait();
      first->wait();
    }
    ready.arrive_and_wait();
    EXPECT_EQ(counted_news.own + counted_news.of_libraries, before);
    ready.arrive_and_wait();
  };
  run_members(2, body, options);
}

TEST_P(AnyProgress, TestRunsTheOperationToItsEnd) {
  Recipe recipe = all_reduce_recipe(2, 300'000, "ring");
  auto body = [&](Communicator& communicator) {
    std::vector<float> vector(300'000, 1.0F);
    auto operation = communicator.prepare(recipe, {bytes_of(vector), {}});
    operation->start();
    while (!operation->test()) std::this_thread::yield();
    EXPECT_EQ(vector.front() + vector.back(), 4.0F);
  };
  run_members(2, body, options);
}

INSTANTIATE_TEST_SUITE_P(Threads, AnyProgress, testing::Bool(),
                         [](const auto& mode) { return mode.param ? "OfItsOwn" : "OfTheDevice"; });

TEST(MoveProgress, WithAThreadOfItsOwnOperationsEndWhileTheDeviceIsBusy) {
  Recipe recipe = all_reduce_recipe(3, 100'000, "ring");
  std::barrier all_done(3);
  auto body = [&](Communicator& communicator) {
    std::vector<float> vector(100'000, 1.0F);
    auto operation = communicator.prepare(recipe, {bytes_of(vector), {}});
    operation->start();
    for (int tries = 0; tries < 10'000 && !operation->is_done(); ++tries)
      std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(operation->is_done());
    all_done.arrive_and_wait();
    operation->wait();
    EXPECT_EQ(operation->waited(), 0ns);
    EXPECT_EQ(vector.back(), 3.0F);
  };
  run_members(3, body, {.has_thread = true});
}

TEST(MoveProgress, WithAThreadOfItsOwnTinyOperationsStartAgainAtOnce) {
  Recipe recipe = all_reduce_recipe(2, 3, "recursive_doubling");
  auto body = [&](Communicator& communicator) {
    std::vector<float> vector(3);
    auto operation = communicator.prepare(recipe, {bytes_of(vector), {}});
    for (int round = 0; round < 20'000; ++round) {
      vector.assign(3, static_cast<float>(round + communicator.member()));
      operation->start();
      operation->wait();
      ASSERT_EQ(vector.back(), static_cast<float>(2 * round + 1)) << round;
    }
  };
  run_members(2, body, {.has_thread = true});
}

TEST(MoveProgress, WithoutOneTheyWaitForTheDevice) {
  Recipe recipe = all_reduce_recipe(2, 100'000, "ring");
  std::barrier looked(2);
  run_members(2, [&](Communicator& communicator) {
    std::vector<float> vector(100'000, 1.0F);
    auto operation = communicator.prepare(recipe, {bytes_of(vector), {}});
    operation->start();
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(operation->is_done());
    looked.arrive_and_wait();
    operation->wait();
  });
}

TEST(MoveProgress, TellsHowLongItReallyWaited) {
  Recipe recipe = all_reduce_recipe(2, 10, "recursive_doubling");
  run_members(2, [&](Communicator& communicator) {
    std::vector<float> vector(10, 1.0F);
    auto operation = communicator.prepare(recipe, {bytes_of(vector), {}});
    if (communicator.member() == 1) std::this_thread::sleep_for(60ms);
    auto start = Clock::now();
    wait_for(*operation, 0);
    if (communicator.member() == 0) {
      EXPECT_GE(operation->waited(), 30ms);
    }
    EXPECT_LE(operation->waited(), Clock::now() - start);
  });
}

// Two devices on one thread: a test runs one chunk at most, so chunks can be counted.
TEST(Urgency, TheNextChunksAreThoseOfTheMostUrgentOperation) {
  constexpr std::int64_t kChunk = 4096, kShort = 2, kBulky = 100;  // in chunks
  ThreadTransport transport;
  std::vector<DeviceId> devices{DeviceId(std::size_t{0}), DeviceId(std::size_t{1})};
  std::vector<std::unique_ptr<MoveProgress>> progress;
  std::vector<std::unique_ptr<Operation>> bulky, urgent;
  std::vector<float> memory(4 * (kShort + kBulky) * kChunk);
  std::byte* next = bytes_of(memory).data();
  auto prepare = [&](Communicator& communicator, std::int64_t chunks) {
    std::span<std::byte> vector{next, static_cast<std::size_t>(chunks * kChunk)};
    next += chunks * kChunk;
    return communicator.prepare(all_reduce_recipe(2, chunks * kChunk / 4, "direct"), {vector, {}},
                                {.chunk = {kChunk}});
  };
  for (DeviceId device : devices) {
    progress.push_back(std::make_unique<MoveProgress>(transport, device));
    Communicator communicator(*progress.back(), devices);
    bulky.push_back(prepare(communicator, kBulky));
    urgent.push_back(prepare(communicator, kShort));
  }
  auto chunks_until_done = [&](auto& operations) {
    int rounds = 0;
    while (!operations[0]->is_done() || !operations[1]->is_done()) {
      for (auto& operation : operations) operation->test();
      ++rounds;
    }
    return rounds;
  };
  for (auto& operation : bulky) operation->start(0);
  for (int round = 0; round < 10; ++round) bulky[round % 2]->test();
  for (auto& operation : urgent) operation->start(1);
  EXPECT_LE(chunks_until_done(urgent), 4);
  EXPECT_GE(chunks_until_done(bulky), kBulky / 2 - 10);
}

/// Whether other programs want the cores too. Asked while this one has one thread.
bool cores_are_busy() {
  int running = 0;
  for (int sample = 0; sample < 10; ++sample) {
    std::ifstream loads("/proc/loadavg");
    double load = 0;
    int now = 1;
    loads >> load >> load >> load >> now;
    running += now;
    std::this_thread::sleep_for(5ms);
  }
  return running > 10 * static_cast<int>(std::thread::hardware_concurrency());
}

struct Overtaking {
  Microseconds behind, limit;
};

/// The best time of a 64 KiB all-reduce behind one of 256 MiB, and twice its time alone plus two
/// chunks.
Overtaking overtake() {
  constexpr std::int64_t kShort = 64 << 10, kBulky = 256 << 20, kChunk = 256 << 10;
  Recipe bulky_recipe = all_reduce_recipe(2, kBulky / 4, "direct");
  Recipe short_recipe = all_reduce_recipe(2, kShort / 4, "direct");
  Overtaking result{};
  run_members(2, [&](Communicator& communicator) {
    HostBlock bulk({kBulky}), few({kShort});
    auto bulky =
        communicator.prepare(bulky_recipe, {{bulk.address(), kBulky}, {}}, {.chunk = {kChunk}});
    auto urgent = communicator.prepare(short_recipe, {{few.address(), kShort}, {}});
    auto best_of = [&](Operation& operation, int tries) {
      Microseconds best = 1h;
      for (int count = 0; count < tries; ++count) {
        auto start = Clock::now();
        wait_for(operation, 1);
        best = std::min<Microseconds>(best, Clock::now() - start);
      }
      return best;
    };
    wait_for(*bulky, 0);  // first touch
    Microseconds chunk_time = best_of(*bulky, 3) / (kBulky / 2 / kChunk);
    Microseconds alone = best_of(*urgent, 20), behind = 1h;
    bulky->start(0);
    for (int tries = 0; tries < 20; ++tries) {
      Microseconds once = best_of(*urgent, 1);
      if (!bulky->is_done()) behind = std::min(behind, once);
    }
    bulky->wait();
    if (communicator.member() == 0) result = {behind, 2 * alone + 2 * chunk_time};
  });
  return result;
}

TEST(Urgency, AShortOperationOvertakesABulkyOneAtTheNextChunk) {
  if (!kTimesCount) GTEST_SKIP() << "times of instrumented code";
  Overtaking best = overtake();
  for (int tries = 0; tries < 4 && best.behind > best.limit; ++tries) {
    if (cores_are_busy()) GTEST_SKIP() << "other programs have the cores";
    best = overtake();
  }
  EXPECT_LE(best.behind.count(), best.limit.count());
}

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

void bind_to_core(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  pthread_setaffinity_np(pthread_self(), sizeof cores, &cores);
}

/// What of an all-reduce of 4 MiB is not hidden behind `compute`, as a share of its time alone:
/// both compute threads on one core, both that run moves on the other.
double exposed_share() {
  constexpr std::int64_t kCount = 1 << 20;
  Recipe recipe = all_reduce_recipe(2, kCount, "direct");
  std::barrier together(2);
  std::atomic<double> share{0};
  ThreadTransport transport;
  std::vector<DeviceId> devices{DeviceId(std::size_t{0}), DeviceId(std::size_t{1})};
  auto body = [&](DeviceId device) {
    bind_to_core(1);  // inherited by the progress's thread
    MoveProgress progress(transport, device, {.has_thread = true});
    bind_to_core(0);
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
    share = std::max(share.load(), Microseconds(Clock::now() - start) / alone);
  };
  {
    std::jthread first([&] { body(devices[0]); }), second([&] { body(devices[1]); });
  }
  return share;
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

TEST_P(AnyProgress, ALostPeerIsToldByTheWaitAndByEveryLaterOne) {
  LosingTransport transport;
  MoveProgress progress(transport, DeviceId(std::size_t{0}), options);
  Communicator communicator(progress, {DeviceId(std::size_t{0}), DeviceId(std::size_t{1})});
  std::vector<float> vector(10);
  auto operation = communicator.prepare(all_reduce_recipe(2, 10, "ring"), {bytes_of(vector), {}});
  operation->start();
  if (GetParam()) std::this_thread::sleep_for(5ms);  // for the other thread to find out
  EXPECT_THROW(operation->wait(), Error);
  EXPECT_THROW(operation->wait(), Error);
}

}  // namespace
}  // namespace troika
