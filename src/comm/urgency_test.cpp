// The most urgent ready move goes first.
#include <gtest/gtest.h>

#include "comm/host_block.h"
#include "comm/members_test.h"
#include "comm/timed_operations_test.h"

namespace troika {
namespace {

// Two devices on one thread: advance runs one chunk at most, so chunks can be counted.
TEST(Urgency, TheNextChunksAreThoseOfTheMostUrgentOperation) {
  constexpr std::int64_t kChunk = 4096, kShort = 2, kBulky = 100;  // in chunks
  ThreadTransport transport;
  std::vector<DeviceId> devices{DeviceId(std::size_t{0}), DeviceId(std::size_t{1})};
  std::vector<std::unique_ptr<MoveScheduler>> schedulers;
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
    schedulers.push_back(std::make_unique<MoveScheduler>(transport, device));
    Communicator communicator(*schedulers.back(), devices);
    bulky.push_back(prepare(communicator, kBulky));
    urgent.push_back(prepare(communicator, kShort));
  }
  auto start_both = [&](auto& operations, std::uint64_t urgency) {
    for (std::size_t at : {0, 1}) schedulers[at]->start(*operations[at], urgency);
  };
  auto chunks_until_done = [&](auto& operations) {
    int rounds = 0;
    while (!operations[0]->is_done() || !operations[1]->is_done()) {
      for (auto& scheduler : schedulers) scheduler->advance();
      ++rounds;
    }
    return rounds;
  };
  start_both(bulky, 0);
  for (int round = 0; round < 10; ++round) schedulers[round % 2]->advance();
  start_both(urgent, 1);
  EXPECT_LE(chunks_until_done(urgent), 4);
  EXPECT_GE(chunks_until_done(bulky), kBulky / 2 - 10);
}

// What lies behind an operation that is done goes on, too, and the urgent one goes first.
TEST(Urgency, AdvancingRunsWhateverIsReadyAndTheMostUrgentFirst) {
  constexpr std::int64_t kCount = 20'000;
  ThreadTransport transport;
  std::vector<DeviceId> devices{DeviceId(std::size_t{0}), DeviceId(std::size_t{1})};
  std::vector<std::unique_ptr<MoveScheduler>> schedulers;
  std::vector<std::unique_ptr<Operation>> plain, urgent, last;
  std::vector<std::vector<float>> vectors(6, std::vector<float>(kCount, 1));
  auto next = vectors.begin();
  for (DeviceId device : devices) {
    schedulers.push_back(std::make_unique<MoveScheduler>(transport, device));
    Communicator communicator(*schedulers.back(), devices);
    for (auto* operations : {&plain, &urgent, &last})
      operations->push_back(communicator.prepare(all_reduce_recipe(2, kCount, "direct"),
                                                 {bytes_of(*next++), {}}, {.chunk = {4096}}));
  }
  EXPECT_FALSE(schedulers[0]->advance()) << "nothing is under way";
  auto start_both = [&](auto& operations, std::uint64_t urgency) {
    for (std::size_t at : {0, 1}) schedulers[at]->start(*operations[at], urgency);
  };
  auto advance_both = [&](std::chrono::nanoseconds budget) {
    bool first = schedulers[0]->advance(budget);
    return schedulers[1]->advance(budget) || first;
  };
  start_both(plain, 0);
  start_both(urgent, 1);
  while (!urgent[0]->is_done() || !urgent[1]->is_done()) {
    ASSERT_TRUE(advance_both({}));
    EXPECT_FALSE(plain[0]->is_done() || plain[1]->is_done()) << "the urgent one goes first";
  }
  start_both(last, 0);
  for (int rounds = 0; rounds < 100 && advance_both(std::chrono::seconds(1));) ++rounds;
  EXPECT_TRUE(plain[0]->is_done() && plain[1]->is_done() && last[0]->is_done() &&
              last[1]->is_done());
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
    MoveScheduler& scheduler = communicator.scheduler();
    auto best_of = [&](Operation& operation, int tries) {
      Microseconds best = 1h;
      for (int count = 0; count < tries; ++count) {
        auto start = Clock::now();
        run_round(scheduler, operation, 1);
        best = std::min<Microseconds>(best, Clock::now() - start);
      }
      return best;
    };
    run_round(scheduler, *bulky);  // first touch
    Microseconds chunk_time = best_of(*bulky, 3) / (kBulky / 2 / kChunk);
    Microseconds alone = best_of(*urgent, 20), behind = 1h;
    scheduler.start(*bulky);
    for (int tries = 0; tries < 20; ++tries) {
      Microseconds once = best_of(*urgent, 1);
      if (!bulky->is_done()) behind = std::min(behind, once);
    }
    scheduler.wait(*bulky);
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

}  // namespace
}  // namespace troika
