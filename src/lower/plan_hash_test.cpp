// Anything that ranks must agree on changes the hash of the plan; which devices a rank has does
// not.
#include "lower/plan_hash.h"

#include <gtest/gtest.h>

#include <set>

#include "lower/testing/found_messages.h"

namespace troika {
namespace {

struct PlanHash : testing::Test {
  OnDevices lowered{4, data_parallel};

  std::uint64_t hash() { return lowered.run().plan_hash; }
  std::uint64_t hash_of_rank(std::size_t device) {
    LowerRequest asked = lowered.request();
    asked.devices = {DeviceId(device)};
    return lowered.run(asked).plan_hash;
  }
};

TEST_F(PlanHash, IsTheSameOnAllRanksAndForAllDevices) {
  for (std::size_t device = 0; device < 4; ++device) EXPECT_EQ(hash_of_rank(device), hash());
}

TEST_F(PlanHash, DoesNotDependOnTheStorageOfAnEqualPlan) {
  TaskGraph train = lowered.run();
  LowerRequest asked = lowered.request();
  asked.storage = train.storage;
  TaskGraph first = lowered.run(asked);
  EXPECT_EQ(lowered.run(asked).plan_hash, first.plan_hash);
}

/// One change each, of a strategy, a machine or kernels. Each must give another hash than all
/// others.
TEST_F(PlanHash, ChangesWithWhateverRanksMustAgreeOn) {
  using Edit = std::function<void(OnDevices&)>;
  const std::vector<std::pair<const char*, Edit>> changes{
      {"nothing", [](OnDevices&) {}},
      {"a split",
       [](OnDevices& on) {
         on.strategy.splits.at("b").factors = {{"o", 3}};
       }},
      {"the first device",
       [](OnDevices& on) {
         on.strategy.splits.at("b").devices = {DeviceId(1u), DeviceId(0u), DeviceId(2u),
                                               DeviceId(3u)};
       }},
      {"the size of buckets", [](OnDevices& on) { on.strategy.sync.bucket = {1}; }},
      {"listed buckets",
       [](OnDevices& on) {
         on.strategy.sync.buckets = {{"a.weight", "b.weight"}};
       }},
      {"slices", [](OnDevices& on) { on.strategy.sync.sliced_update = true; }},
      {"overlap", [](OnDevices& on) { on.strategy.sync.overlap = false; }},
      {"lags", [](OnDevices& on) { on.strategy.sync.carry_updates = false; }},
      {"priorities", [](OnDevices& on) { on.strategy.sync.priorities = false; }},
      {"an order of messages",
       [](OnDevices& on) { on.strategy.sync.message_order = {"d b.weight"}; }},
      {"algorithms", [](OnDevices& on) { on.strategy.sync.algorithms = "ring:0-max"; }},
      {"micro-batches", [](OnDevices& on) { on.strategy.micro_batches = 2; }},
      {"clipping", [](OnDevices& on) { on.optimizer.clip_norm = 1; }},
      {"another clipping", [](OnDevices& on) { on.optimizer.clip_norm = 2; }},
      {"the rule of a parameter",
       [](OnDevices& on) { on.optimizer.rules.at("a.bias") = Sgd{.momentum = 0.5}; }},
      {"a kernel", [](OnDevices& on) { on.kernels.fuses = true; }},
      {"a node", [](OnDevices& on) { on.machine.devices[3].node = 1; }},
      {"a process", [](OnDevices& on) { on.machine.devices[3].rank = 1; }},
  };
  std::map<std::uint64_t, const char*> known;
  for (const auto& [what, change] : changes) {
    OnDevices on(4, data_parallel);
    change(on);
    ASSERT_EQ(why_infeasible(on.strategy, on.graph, on.machine), std::nullopt) << what;
    auto [other, is_new] = known.try_emplace(on.run().plan_hash, what);
    EXPECT_TRUE(is_new) << what << " gives the hash of " << other->second;
  }
}

TEST_F(PlanHash, ChangesWithLinkCosts) {
  LinkCosts links = assumed_link_costs();
  LowerRequest asked = lowered.request();
  asked.links = &links;
  std::uint64_t before = lowered.run(asked).plan_hash;
  links.provenance.source = "elsewhere";
  EXPECT_NE(lowered.run(asked).plan_hash, before);
}

TEST_F(PlanHash, ChangesWithTheStoredPlaces) {
  TaskGraph train = lowered.run();
  LowerRequest asked = lowered.request();
  asked.storage = train.storage;
  std::uint64_t before = lowered.run(asked).plan_hash;
  auto entry = std::ranges::find(asked.storage, "b.weight", &StateEntry::name);
  StoredPlaces places = *entry->places;
  places.pop_back();
  entry->places = std::make_shared<StoredPlaces>(places);
  EXPECT_NE(lowered.run(asked).plan_hash, before);
}

}  // namespace
}  // namespace troika
