// order = "fixed": the same bits on any number of devices (docs/design.md, Lowering).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "small_training.h"
#include "strategy/ready.h"

namespace troika {
namespace {

SmallTraining train_fixed(const SmallCase& asked, std::int64_t devices) {
  return train_small(asked, devices, for_all_graphs(asked, [&](const Graph& graph) {
                       return fixed_order(graph, machine_of(devices), asked.shards);
                     }));
}

/// Values that compare equal have equal bits, except for zeros, whose signs are compared as well.
void expect_same_bits(const std::vector<StateTensor>& found, const std::vector<StateTensor>& truth,
                      const std::string& when) {
  ASSERT_EQ(found.size(), truth.size());
  for (const StateTensor& tensor : truth) {
    auto same = std::ranges::find(found, tensor.name, &StateTensor::name);
    ASSERT_NE(same, found.end()) << tensor.name;
    std::size_t count = 0;
    for (std::size_t i = 0; i < tensor.values.size(); ++i)
      if (std::bit_cast<std::uint64_t>(same->values[i]) !=
          std::bit_cast<std::uint64_t>(tensor.values[i]))
        ++count;
    EXPECT_EQ(count, 0u) << "of " << tensor.values.size() << " elements of " << tensor.name << " "
                         << when;
  }
}

class FixedOrder : public testing::TestWithParam<std::string> {};

TEST_P(FixedOrder, HasTheSameBitsOnAnyNumberOfDevices) {
  SmallCase asked{.model = GetParam(), .shards = 8, .cpu_kernels = true};
  SmallTraining one = train_fixed(asked, 1);
  for (std::int64_t devices : {2, 4, 8}) {
    SCOPED_TRACE(std::to_string(devices) + " devices");
    SmallTraining several = train_fixed(asked, devices);
    EXPECT_EQ(several.losses, one.losses);
    expect_same_bits(several.first, one.first, "after the first step");
    expect_same_bits(several.last, one.last, "after the last step");
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, FixedOrder, testing::Values("lenet", "resnet18", "gpt2"),
                         [](const auto& row) { return row.param; });

/// Four shards of ten samples have 3, 3, 2 and 2.
SmallTraining train_unequal_shards(std::int64_t devices) {
  SmallCase asked{.model = "lenet", .cpu_kernels = true};
  zoo::ModelRequest request = zoo::small_request(asked.model);
  request.samples.batch = 10;
  zoo::Model model = zoo::build(request);
  RunConfig config = config_for(asked, devices);
  LiveModel live(set_up_runtime(config.kernels, config.parallel));
  live.add_training(model, config, fixed_order(model.train(), machine_of(devices), 4));
  live.start();
  live.initialize(asked.seed);
  SmallTraining training = run_small(live.session(), model, asked);
  check_copies(live.session());
  return training;
}

TEST(FixedOrderOfSums, UnequalShardsHaveTheSameBitsOnAnyNumberOfDevices) {
  SmallTraining one = train_unequal_shards(1);
  for (std::int64_t devices : {2, 4}) {
    SmallTraining several = train_unequal_shards(devices);
    std::string when = "on " + std::to_string(devices) + " devices";
    EXPECT_EQ(several.losses, one.losses) << when;
    expect_same_bits(several.last, one.last, when);
  }
}

/// With devices in another order, messages would sum the shards in another order.
TEST(FixedOrderOfSums, DevicesInAnotherOrderAreRefused) {
  SmallCase asked{.model = "lenet", .shards = 8, .cpu_kernels = true};
  Strategy permuted = for_all_graphs(asked, [&](const Graph& graph) {
    Strategy made = fixed_order(graph, machine_of(4), 8);
    for (auto& [name, split] : made.splits)
      split = {.factors = {{"n", 8}},
               .devices = {DeviceId(2u), DeviceId(2u), DeviceId(0u), DeviceId(0u), DeviceId(1u),
                           DeviceId(1u), DeviceId(3u), DeviceId(3u)}};
    return made;
  });
  try {
    train_small(asked, 4, permuted);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("tile 0 on device 2, not 0"), std::string::npos)
        << error.what();
  }
}

TEST(FixedOrderOfSums, AnotherOrderHasOtherBits) {
  SmallCase asked{.model = "lenet", .shards = 8, .cpu_kernels = true};
  SmallTraining one = train_small(asked, 1, Strategy::single());
  SmallTraining fixed = train_fixed(asked, 1);
  EXPECT_NE(one.last, fixed.last);  // otherwise the test above could not fail
}

}  // namespace
}  // namespace troika
