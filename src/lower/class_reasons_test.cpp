#include "lower/class_reasons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/testing/lowered.h"
#include "machine/cluster.h"
#include "strategy/ready.h"

namespace troika {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// What tells each class from the one before it.
std::vector<std::string> differences_of(const std::vector<ExplainedClass>& classes) {
  std::vector<std::string> all;
  for (const ExplainedClass& each : classes) all.push_back(each.difference);
  return all;
}

/// An image of 8 rows and a linear layer behind it.
struct Rows : Lowered {
  explicit Rows(std::size_t devices) {
    graph = parse_graph(R"(graph rows
input x f32[8,3,8,4]
input target i32[8]
input weight f32[8]
parameter conv.weight f32[3,3,3,3] uniform 0.5
parameter more.weight f32[3,3,3,3] uniform 0.5
parameter fc.weight f32[3,3] uniform 0.5
operator conv conv2d{out=3,kernel=[3,3],pad=[1,1],pad_end=[1,1]} (x) [conv.weight] -> conv
operator more conv2d{out=3,kernel=[3,3],pad=[1,1],pad_end=[1,1]} (conv) [more.weight] -> more
operator pool global_pool{} (more) [] -> pool
operator fc linear{out=3} (pool) [fc.weight] -> logits
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
output logits logits
loss loss_sum weight_sum
)");
    machine.devices.resize(devices);
    optimizer = {.rules = {{"conv.weight", Sgd{}}, {"more.weight", Sgd{}}, {"fc.weight", Sgd{}}}};
  }
};

TEST(ClassReasons, EqualDevicesAreOneClassWithoutAReason) {
  OnDevices run(4, data_parallel);
  std::vector<ExplainedClass> classes = explain_classes(run.request());
  ASSERT_THAT(classes, SizeIs(1));
  EXPECT_THAT(classes[0].devices, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(classes[0].difference, IsEmpty());
}

TEST(ClassReasons, TasksAreThoseOfOneDeviceBeforeKernelsAreChosen) {
  OnDevices run(4, data_parallel);
  TaskGraph lowered = run.run();
  auto on_first = std::ranges::count(lowered.tasks, DeviceId(std::size_t{0}), &Task::device);
  EXPECT_EQ(explain_classes(run.request())[0].tasks, on_first);
}

TEST(ClassReasons, ADeviceWithMoreSamplesHasALongerTile) {
  OnDevices run(3, data_parallel);
  std::vector<ExplainedClass> classes = explain_classes(run.request());
  ASSERT_THAT(classes, SizeIs(2));
  EXPECT_THAT(classes[0].devices, ElementsAre(0, 1));
  EXPECT_THAT(classes[1].devices, ElementsAre(2));
  EXPECT_EQ(classes[1].difference, "tile of a: 2 samples instead of 3");
}

TEST(ClassReasons, BordersOfAnImageDifferInPaddingAndInnerRowsInTheirPartners) {
  Rows run(4);
  run.strategy = spatial_parallel(run.graph, run.machine);
  EXPECT_THAT(differences_of(explain_classes(run.request())),
              ElementsAre("", "tile of conv: no row of padding above instead of 1",
                          "conv: partners of class 3 instead of 2",
                          "tile of conv: 1 row of padding below instead of 0"));
}

// The second device of each pair sums gradients with the second one of the other pair.
TEST(ClassReasons, PartnersOfAnotherClassAreNamedWithTheirValue) {
  OnDevices run(4, [](const Graph& graph, const Machine&) {
    return mixed_parallel(graph, {.data = 2, .tensor = 2});
  });
  run.machine.devices[3].kind = "other";
  EXPECT_THAT(differences_of(explain_classes(run.request())),
              ElementsAre("", "gradient of b.weight: partners of class 3 instead of 2",
                          "logits: partners of class 3 instead of 0", "another kind of device"));
}

// One device gathers what the others have, each in a message of its own.
TEST(ClassReasons, EqualMessagesToOneDeviceAreToldApartByTheirPlaceThere) {
  Rows run(4);
  for (const char* name : {"conv", "more"}) run.strategy.splits[name].factors = {{"n", 4}};
  EXPECT_THAT(differences_of(explain_classes(run.request())),
              ElementsAre("", "has no tile of pool", "more: another one of the messages of class 0",
                          "more: another one of the messages of class 0"));
}

TEST(ClassReasons, NamesTheFirstOperatorThatOnlyOneOfThemHas) {
  Rows run(2);
  run.strategy.splits["fc"].first = 1;
  EXPECT_THAT(differences_of(explain_classes(run.request())),
              ElementsAre("", "has no tile of conv"));
  run.strategy.splits["conv"].factors = {{"n", 2}};
  for (const char* name : {"more", "pool"}) run.strategy.splits[name].factors = {{"n", 2}};
  EXPECT_THAT(differences_of(explain_classes(run.request())), ElementsAre("", "has 1 tile of fc"));
}

TEST(ClassReasons, CountsTilesAndPartsOfParameters) {
  Rows run(2);
  run.strategy.splits["conv"] = {.factors = {{"n", 4}}, .devices = {}};
  for (std::size_t device : {0, 0, 0, 1}) run.strategy.splits["conv"].devices.emplace_back(device);
  EXPECT_THAT(differences_of(explain_classes(run.request())),
              ElementsAre("", "has 1 tile of conv instead of 3"));
}

TEST(ClassReasons, NodesOfUnequalSizeAreTheReasonIfNothingElseIs) {
  OnDevices run(4, data_parallel);
  for (std::size_t i = 0; i < 4; ++i) run.machine.devices[i].node = i < 3 ? 0 : 1;
  EXPECT_THAT(differences_of(explain_classes(run.request())),
              ElementsAre("", "its node has 1 device instead of 3"));
  run.machine.devices[2].node = 1;
  EXPECT_THAT(explain_classes(run.request()), SizeIs(1));
}

TEST(ClassReasons, TheKindOfADeviceComesFirst) {
  OnDevices run(2, data_parallel);
  run.machine.devices[1].kind = "other";
  EXPECT_THAT(differences_of(explain_classes(run.request())),
              ElementsAre("", "another kind of device"));
  run.machine.devices[1] = {.memory = {1 << 20}};
  EXPECT_THAT(differences_of(explain_classes(run.request())),
              ElementsAre("", "1.0 MiB of memory instead of 0 B"));
}

TEST(ClassReasons, ASlowLinkIsNamedForItsDeviceAndTheNodeForTheOthers) {
  OnDevices run(4, data_parallel);
  run.machine = make_machine({.nodes = {{.count = 2, .devices = 2}}});
  ASSERT_THAT(explain_classes(run.request()), SizeIs(1));
  run.machine.links[3].speed.bytes_per_second /= 2;
  EXPECT_THAT(
      differences_of(explain_classes(run.request())),
      ElementsAre("", "shares its node with class 2 instead of 0", "its links have another speed"));
}

}  // namespace
}  // namespace troika
