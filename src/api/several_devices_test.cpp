// Ready plans on several devices of one process, as a user's program sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <troika/troika.h>

#include <cmath>
#include <filesystem>

#include "checkpoint/safetensors.h"

namespace troika {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

data::Source digits() { return data::open("digits:train?size=128"); }

Trainer make_trainer(std::int64_t global_batch = 32) {
  auto net = nn::sequential(nn::conv2d({.out = 4, .pad = 1}), nn::relu(), nn::max_pool(),
                            nn::flatten(), nn::linear({.out = 16}), nn::relu(), nn::linear());
  // The reference kernels have one way to add up, so weights differ by the plan alone.
  return Trainer(net, digits(), loss::cross_entropy(), optim::sgd({.learning_rate = 0.05}),
                 {.global_batch = global_batch, .threads = 1, .kernels = Kernels::reference});
}

std::vector<float> weights(Trainer& trainer) {
  std::string path = testing::TempDir() + "troika-devices-" + std::to_string(::getpid());
  trainer.save(path);
  SafetensorsFile file(path);
  std::vector<float> all;
  for (const NamedParameter& parameter : trainer.parameters()) {
    auto bytes = file.bytes(*file.find(parameter.name));
    const auto* values = reinterpret_cast<const float*>(bytes.data());
    all.insert(all.end(), values, values + bytes.size() / sizeof(float));
  }
  std::filesystem::remove(path);
  return all;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (std::size_t at = 0; at < a.size(); ++at)
    largest = std::max(largest, std::abs(double{a[at]} - b.at(at)));
  return largest;
}

TEST(SeveralDevices, ThisMachineSharesItsCoresOut) {
  Machine whole = this_machine(), half = this_machine({.devices = 2});
  EXPECT_EQ(whole.devices, 1);
  EXPECT_EQ(half.devices, 2);
  EXPECT_EQ(half.threads, std::max(1, whole.threads / 2));
  EXPECT_THAT([] { this_machine({.devices = 0}); }, ThrowsMessage<Error>(HasSubstr("not 0")));
}

TEST(SeveralDevices, PlansComputeWhatOneDeviceComputes) {
  Trainer one = make_trainer();
  FitResult alone = one.fit(Strategy::single(), {.epochs = 2});
  std::vector<float> expected = weights(one);
  for (const char* name :
       {"data", "tensor", "spatial", "hybrid", "expert", "placed", "branches", "wavefront"}) {
    Trainer two = make_trainer();
    Strategy plan = two.plan(this_machine({.devices = 2}), name);
    FitResult result = two.fit(plan, {.epochs = 2});
    EXPECT_NEAR(result.loss.value(), alone.loss.value(), 1e-5) << name;
    EXPECT_LT(largest_difference(weights(two), expected), 1e-5) << name;
  }
}

/// Equal sums in another order differ in their last digits: those of one device would be a sign
/// that the plan was ignored.
TEST(SeveralDevices, TheWorkIsReallySplit) {
  Trainer one = make_trainer();
  one.fit(Strategy::single(), {.steps = 4});
  for (const char* name : {"data", "tensor"}) {
    Trainer two = make_trainer();
    Strategy plan = two.plan(this_machine({.devices = 2}), name);
    EXPECT_THAT(plan.json(), HasSubstr(R"({"factors": [{")")) << name;
    two.fit(plan, {.steps = 4});
    EXPECT_GT(largest_difference(weights(two), weights(one)), 0) << name;
  }
}

TEST(SeveralDevices, AFitMayMoveToOtherDevices) {
  Trainer moved = make_trainer(), stayed = make_trainer();
  moved.fit(moved.plan(this_machine({.devices = 2}), "tensor"), {.steps = 2});
  moved.fit(moved.plan(this_machine({.devices = 4}), {.data = 2, .tensor = 2}), {.steps = 2});
  moved.fit(Strategy::single(), {.steps = 2});
  stayed.fit(Strategy::single(), {.steps = 6});
  EXPECT_LT(largest_difference(weights(moved), weights(stayed)), 1e-5);
}

TEST(SeveralDevices, TheChosenPlanIsDataParallelIfTheBatchDivides) {
  Trainer trainer = make_trainer(32);
  EXPECT_EQ(trainer.plan(this_machine()), Strategy::single());
  EXPECT_EQ(trainer.plan({.devices = 2}), trainer.plan({.devices = 2}, "data"));
  EXPECT_EQ(trainer.plan({.devices = 3}), Strategy::single());
}

TEST(SeveralDevices, RefusesPlansThatCannotRun) {
  Trainer trainer = make_trainer();
  auto refused = [](const char* reason) { return ThrowsMessage<Error>(HasSubstr(reason)); };
  EXPECT_THAT([&] { trainer.plan({.devices = 2}, "tensr"); }, refused("did you mean 'tensor'"));
  EXPECT_THAT([&] { trainer.plan({.devices = 2}, {.data = 2, .tensor = 2}); },
              refused("does not fit a machine of 2 devices"));
  EXPECT_THAT([&] { trainer.plan({.devices = 2}, {.data = -1}); }, refused("at least 1"));
  EXPECT_THAT([&] { trainer.plan({.devices = 0}, "data"); }, refused("not 0"));
  EXPECT_THAT([&] { trainer.plan({.devices = 2}, ""); }, refused("the name of the plan is empty"));
  auto plan = [](const std::string& split) {
    return Strategy::parse(R"({"format": "troika plan 1", "micro_batches": 1, "splits":
        {"linear2": )" + split +
                           "}}");
  };
  Strategy gap = plan(R"({"degrees": {"o": 2}, "devices": [0, 7]})"),
           wide = plan(R"({"degrees": {"o": 20}, "devices": [0]})");
  EXPECT_THAT([&] { trainer.fit(gap); }, refused("names device 7 but has 2 in all"));
  try {
    trainer.fit(wide);
    FAIL() << "10 classes were cut into 20";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr("linear2"));
  }
  EXPECT_EQ(trainer.fit(Strategy::single(), {.steps = 1}).step, 1);
}

TEST(SeveralDevices, AWrongDigitInAPlanStartsNoThreads) {
  Strategy plan = Strategy::parse(R"({"format": "troika plan 1", "micro_batches": 1,
      "machine": {"devices": 5000, "nodes": 1, "kinds": ["cpu"]},
      "splits": {"linear2": {"degrees": {"o": 2}, "devices": [0, 4999]}}})");
  Trainer trainer = make_trainer();
  try {
    trainer.fit(plan);
    FAIL() << "5000 devices were started";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr("needs 5000 devices, over the limit of 4096"));
  }
}

TEST(SeveralDevices, APlanOfAnotherNetworkIsRefused) {
  Trainer trainer = make_trainer();
  Trainer other(nn::sequential(nn::flatten(), nn::linear()), digits(), loss::cross_entropy(),
                optim::sgd());
  EXPECT_THAT([&] { trainer.fit(other.plan({.devices = 2}, "data")); },
              ThrowsMessage<Error>(HasSubstr("the plan was made for the model 'network'")));
}

}  // namespace
}  // namespace troika
