#include "setup/device_speeds.h"

#include <gmock/gmock.h>

#include "setup/choose_strategy.h"
#include "train/small_runs_test.h"

namespace troika {
namespace {

using testing::ElementsAre;

TEST(DeviceSpeeds, AreRelativeToTheSlowestAndEqualWithinNoise) {
  EXPECT_THAT(relative_speeds({1e11, 1.1e11, 0.99e11}), ElementsAre(1, 1, 1));
  EXPECT_THAT(relative_speeds({5e10, 1.52e11}), ElementsAre(1, 3));
}

TEST(DeviceSpeeds, DecideTheSamplesOfEachDeviceWhereWeightsAreMeasured) {
  Folder folder;
  RunConfig config = language_run(folder, {"parallel.plan=data", "parallel.devices=2",
                                           "train.global_batch=8", "parallel.weights=measured"});
  zoo::Model model = make_training(config)->model();
  Machine machine;
  machine.devices.resize(2);
  machine.devices[0].slowdown = 3;
  Strategy weighted = choose_strategy({config, model, machine, assumed_link_costs()});
  EXPECT_THAT(weights_along(weighted.splits.at("lm_head"), "n"), ElementsAre(2, 6));
  config.parallel.weights = ParallelConfig::Weights::equal;
  Strategy equal = choose_strategy({config, model, machine, assumed_link_costs()});
  EXPECT_FALSE(has_weights(equal.splits.at("lm_head")));
}

TEST(DeviceSpeeds, SlowDownDevicesOfSlowerRanksThanTheFirst) {
  Machine machine;
  for (std::int32_t rank : {0, 1, 1, 2}) machine.devices.push_back({.rank = rank});
  machine = with_speeds(machine, {2, 1, 4});
  std::vector<double> slowdowns;
  for (const DeviceSpec& device : machine.devices) slowdowns.push_back(device.slowdown);
  EXPECT_THAT(slowdowns, ElementsAre(1, 2, 2, 0.5));
}

TEST(DeviceSpeeds, OfEqualTilesCountOnlyIfARankIsMuchSlower) {
  Machine machine;
  for (std::int32_t rank : {0, 1}) machine.devices.push_back({.rank = rank});
  EXPECT_EQ(with_slow_ranks(machine, {1.25, 1}).devices[1].slowdown, 1);
  EXPECT_EQ(with_slow_ranks(machine, {2, 1}).devices[1].slowdown, 2);
}

TEST(DeviceSpeeds, OfOneProcessAreEqual) {
  Folder folder;
  auto training = make_training(
      language_run(folder, {"parallel.plan=data", "parallel.devices=2", "parallel.weights=measured",
                            "kernels.backend=reference"}));
  const RuntimeSetup& setup = training->live().setup();
  Machine machine = with_speeds(setup.machine, measure_speeds(setup));
  EXPECT_EQ(machine.devices[0].slowdown, 1);
  EXPECT_EQ(machine.devices[1].slowdown, 1);
  EXPECT_THAT(weights_along(training->strategy().splits.at("lm_head"), "n"), ElementsAre(4, 4));
}

}  // namespace
}  // namespace troika
