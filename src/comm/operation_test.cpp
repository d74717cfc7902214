#include "comm/operation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/random.h"
#include "base/testing/test_effort.h"
#include "comm/members_test.h"
#include "comm/serial_collective_test.h"
#include "tensor/float16.h"

namespace troika {
namespace {

struct Case {
  CollectiveCall call;
  std::string algorithm;
  DType dtype;
  CombineRule rule;
};

std::string to_string(const Case& test) {
  return fmt::format("{} {} {} {} members {} count {} segment {} root {}",
                     to_string(test.call.kind), test.algorithm, to_string(test.dtype),
                     to_string(test.rule), test.call.members, test.call.count, test.call.segment,
                     test.call.root);
}

/// Twice: a second round finds what the first left behind.
template <class T>
void check_typed(Communicator& communicator, const Case& test, const Recipe& recipe) {
  auto count = static_cast<std::size_t>(test.call.count);
  std::vector<T> vector(count), input(count);
  std::unique_ptr<Operation> operation = communicator.prepare(
      recipe, {bytes_of(vector), bytes_of(input)}, {.dtype = test.dtype, .rule = test.rule});
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < count; ++i)
      vector[i] = input[i] = static_cast<T>(
          static_cast<float>(contribution(communicator.member(), static_cast<std::int64_t>(i))));
    communicator.scheduler().start(*operation);
    communicator.scheduler().wait(*operation);
    for (std::size_t i = 0; i < count; ++i) {
      auto value =
          expected(test.call, communicator.member(), static_cast<std::int64_t>(i), test.rule);
      if (!value) continue;
      CombineRule rule = combines(test.call.kind) ? test.rule : CombineRule::sum;
      ASSERT_EQ(static_cast<double>(vector[i]),
                static_cast<double>(stored<T>(*value, rule, test.call.members)))
          << to_string(test) << " member " << communicator.member() << " element " << i << " round "
          << round;
    }
  }
}

void check(Communicator& communicator, const Case& test, const Recipe& recipe) {
  dispatch_elements(test.dtype, [&]<class T>() { check_typed<T>(communicator, test, recipe); });
}

/// The count 2^20+3 for f32 and one number of members only, and not where each address is checked,
/// unless the grid is the full one.
bool is_in_small_grid(const Case& test) {
  if (test.call.count <= 1000) return test.call.members != 7 && test.call.members != 6;
  if (kChecksAddresses) return false;
  return test.call.members == 3 && test.dtype == DType::f32 && test.rule == CombineRule::sum;
}

std::vector<Case> grid(int members) {
  std::vector<Case> cases;
  for (const Algorithm& algorithm : algorithms()) {
    for (std::int64_t count : {0, 1, 7, 1000, (1 << 20) + 3}) {
      if (algorithm.kind == Collective::barrier && count > 0) continue;
      CollectiveCall call = equal_parts(algorithm.kind, members, count);
      call.root = members / 2;
      if (count == 1000) call.segment = 64;
      if (algorithm.name == "hierarchical")
        for (int member = 0; member < members; ++member) call.nodes.push_back(member / 2);
      if (algorithm.why_not(call)) continue;
      for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::f16, DType::bf16}) {
        for (CombineRule rule :
             {CombineRule::sum, CombineRule::mean, CombineRule::min, CombineRule::max}) {
          if (!combines(algorithm.kind) && rule != CombineRule::sum) continue;
          Case test{call, std::string(algorithm.name), dtype, rule};
          if (full_grid() || is_in_small_grid(test)) cases.push_back(test);
        }
      }
    }
  }
  return cases;
}

class EveryCollective : public testing::TestWithParam<int> {};

TEST_P(EveryCollective, EqualsItsDefinitionForEveryAlgorithmTypeAndCount) {
  std::vector<Case> cases = grid(GetParam());
  RecordProperty("cases", static_cast<int>(cases.size()));
  std::vector<Recipe> recipes;
  for (const Case& test : cases) recipes.push_back(make_recipe(test.call, test.algorithm));
  run_members(GetParam(), [&](Communicator& communicator) {
    for (std::size_t at = 0; at < cases.size(); ++at) {
      check(communicator, cases[at], recipes[at]);
      if (testing::Test::HasFatalFailure()) std::_Exit(1);  // the others would wait in vain
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Members, EveryCollective, testing::Range(1, 10));

// 1 + 2^-8 + 2^-8 + 2^-8: in bf16 every addition of 2^-8 to 1 is rounded away.
TEST(ShortSums, AreRoundedOnceByEveryAlgorithm) {
  for (const Algorithm& algorithm : algorithms(Collective::all_reduce)) {
    CollectiveCall call = equal_parts(Collective::all_reduce, 4, 5);
    if (algorithm.why_not(call)) continue;
    Recipe recipe = make_recipe(call, algorithm.name);
    run_members(4, [&](Communicator& communicator) {
      std::vector<BFloat16> vector(5, BFloat16(communicator.member() == 0 ? 1 : 0x1p-8F));
      communicator.run(recipe, {bytes_of(vector), {}}, {.dtype = DType::bf16});
      for (BFloat16 value : vector) EXPECT_EQ(value, BFloat16(1 + 3 * 0x1p-8F)) << algorithm.name;
    });
  }
}

TEST(RandomSums, AreNearTheSerialSumForEveryAlgorithm) {
  constexpr int kMembers = 5;
  constexpr std::size_t kCount = 10'000;
  auto value = [](int member, std::size_t i) {
    return RandomStream{.key = 1, .stream = static_cast<std::uint64_t>(member)}.normal(i);
  };
  for (const Algorithm& algorithm : algorithms(Collective::all_reduce)) {
    CollectiveCall call = equal_parts(Collective::all_reduce, kMembers, kCount);
    if (algorithm.why_not(call)) continue;
    Recipe recipe = make_recipe(call, algorithm.name);
    run_members(kMembers, [&](Communicator& communicator) {
      std::vector<float> vector(kCount);
      for (std::size_t i = 0; i < kCount; ++i)
        vector[i] = static_cast<float>(value(communicator.member(), i));
      communicator.run(recipe, {bytes_of(vector), {}}, {});
      for (std::size_t i = 0; i < kCount; ++i) {
        double sum = 0, size = 0;
        for (int member = 0; member < kMembers; ++member) {
          sum += static_cast<float>(value(member, i));
          size += std::abs(value(member, i));
        }
        ASSERT_NEAR(vector[i], sum, 4 * 0x1p-24 * size) << algorithm.name;  // four additions
      }
    });
  }
}

// Two tags meet, or a count differs, where members do not do the same; a bug, not a hang.
TEST(Bind, RefusesBuffersThatDoNotFitTheCall) {
  ThreadTransport transport;
  MoveScheduler scheduler(transport, DeviceId(std::size_t{0}));
  Communicator communicator(scheduler, {DeviceId(std::size_t{0}), DeviceId(std::size_t{1})});
  std::vector<float> vector(6);
  Recipe recipe = all_reduce_recipe(2, 7, "ring");
  EXPECT_THROW((void)communicator.prepare(recipe, {bytes_of(vector), {}}), Bug);
  Recipe of_three = all_reduce_recipe(3, 6, "ring");
  EXPECT_THROW((void)communicator.prepare(of_three, {bytes_of(vector), {}}), Bug);
}

TEST(TreeOrder, GivesTheSameBitsForAnyNumberOfDevicesAndBucketSize) {
  constexpr int kShards = 8;
  constexpr std::int64_t kCount = 3001;
  auto shard = [&](int number) {
    std::vector<float> values(kCount);
    RandomStream stream{.key = 3, .stream = static_cast<std::uint64_t>(number)};
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(stream.normal(i));
    return values;
  };
  // Of a device's own shards, neighbours first, as between devices.
  auto sum_of_shards = [&](int first, int count) {
    std::vector<std::vector<float>> level;
    for (int number = first; number < first + count; ++number) level.push_back(shard(number));
    auto combine = arithmetic_of(DType::f32, CombineRule::sum).combine;
    while (level.size() > 1) {
      std::vector<std::vector<float>> next;
      for (std::size_t at = 0; at < level.size(); at += 2) {
        combine(bytes_of(level[at]).data(), bytes_of(level[at + 1]).data(), kCount);
        next.push_back(std::move(level[at]));
      }
      level = std::move(next);
    }
    return level.front();
  };
  std::vector<float> truth = sum_of_shards(0, kShards);
  int compared = 0;
  for (const Algorithm& algorithm : algorithms(Collective::all_reduce)) {
    for (int members : {1, 2, 4, 8}) {
      for (std::int64_t bucket : {kCount, std::int64_t{1000}, std::int64_t{17}}) {
        for (std::int64_t segment : {0, 100}) {
          CollectiveCall probe = equal_parts(Collective::all_reduce, members, bucket);
          probe.order = CombineOrder::tree;
          if (algorithm.why_not(probe)) continue;
          ++compared;
          run_members(members, [&](Communicator& communicator) {
            int each = kShards / members;
            std::vector<float> vector = sum_of_shards(communicator.member() * each, each);
            for (std::int64_t begin = 0; begin < kCount; begin += bucket) {
              CollectiveCall call =
                  equal_parts(Collective::all_reduce, members, std::min(bucket, kCount - begin));
              call.order = CombineOrder::tree;
              call.segment = segment;
              auto part = std::span(vector).subspan(static_cast<std::size_t>(begin),
                                                    static_cast<std::size_t>(call.count));
              communicator.run(make_recipe(call, algorithm.name),
                               {std::as_writable_bytes(part), {}}, {});
            }
            EXPECT_EQ(std::memcmp(vector.data(), truth.data(), sizeof(float) * kCount), 0)
                << algorithm.name << " on " << members << " in buckets of " << bucket;
          });
        }
      }
    }
  }
  EXPECT_GT(compared, 10);
}

TEST(Barrier, NobodyIsDoneBeforeAllHaveBegun) {
  for (const Algorithm& algorithm : algorithms(Collective::barrier)) {
    for (int members : {1, 2, 3, 5}) {
      Recipe recipe = make_recipe(equal_parts(Collective::barrier, members, 0), algorithm.name);
      std::atomic<int> begun{0};
      run_members(members, [&](Communicator& communicator) {
        std::unique_ptr<Operation> operation = communicator.prepare(recipe, {});
        for (int round = 1; round <= 20; ++round) {
          begun.fetch_add(1);
          communicator.scheduler().start(*operation);
          communicator.scheduler().wait(*operation);
          EXPECT_GE(begun.load(), round * members) << algorithm.name;
        }
      });
    }
  }
}

}  // namespace
}  // namespace troika
