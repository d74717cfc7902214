#include "cli/inspect_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/testing/temporary_folder.h"
#include "strategy/plan_origin.h"
#include "strategy/ready.h"
#include "zoo/zoo.h"

namespace troika::cli {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

struct PlanRequest {
  std::string model = "lenet", plan = "data";
  std::int64_t batch = 8;
  std::size_t devices = 4;
};

Strategy made_plan(const PlanRequest& request) {
  Graph graph =
      zoo::build({.name = request.model, .samples = {.batch = request.batch}}).graphs.front().graph;
  Machine machine;
  machine.devices.resize(request.devices);
  Strategy plan = ready_strategy(request.plan, graph, machine);
  plan.made_for = planned_model(graph);
  plan.made_for->name = request.model;
  plan.made_for_batch = request.batch;
  return plan;
}

/// A plan in a file of its own.
struct PlanFile {
  explicit PlanFile(const Strategy& plan) : path(folder.write("plan.json", to_json(plan))) {}

  TemporaryFolder folder;
  std::string path;
};

TEST(InspectClasses, EqualDevicesAreOneClass) {
  PlanFile plan(made_plan({}));
  ClassInspection found = inspect_classes(plan.path, {});
  ASSERT_THAT(found.programs, SizeIs(1));
  EXPECT_EQ(found.programs[0].program, "train");
  ASSERT_THAT(found.programs[0].classes, SizeIs(1));
  EXPECT_THAT(to_text(found),
              HasSubstr("4 devices in 1 class; a task graph of 1 device stands for all\n"));
  EXPECT_THAT(to_text(found), HasSubstr("0-3      not known"));
}

TEST(InspectClasses, ShowsTheDevicesAndTheReasonOfEachClass) {
  PlanFile plan(made_plan({.batch = 10}));
  ClassInspection found = inspect_classes(plan.path, {});
  EXPECT_THAT(to_text(found), HasSubstr("2  2      2-3"));
  EXPECT_THAT(to_text(found), HasSubstr("tile of conv1: 2 samples instead of 3\n"));
  nlohmann::json json = nlohmann::json::parse(to_json_text(found));
  EXPECT_EQ(json["devices"], 4);
  const nlohmann::json& classes = json["programs"][0]["classes"];
  ASSERT_THAT(classes, SizeIs(2));
  EXPECT_FALSE(classes[0].contains("difference"));
  EXPECT_EQ(classes[1]["class"], 1);
  EXPECT_EQ(classes[1]["count"], 2);
  EXPECT_EQ(classes[1]["first"], 2);
  EXPECT_EQ(classes[1]["devices"], "2-3");
  EXPECT_EQ(classes[1]["difference"], "tile of conv1: 2 samples instead of 3");
  EXPECT_GT(classes[1]["tasks"], 20);
}

TEST(InspectClasses, TakesNodesAndKindsFromThePlanIfTheyAreAlike) {
  Strategy strategy = made_plan({});
  strategy.made_on = {.devices = 4, .nodes = 2, .kinds = {"gpu"}};
  ClassInspection found = inspect_classes(PlanFile(strategy).path, {});
  EXPECT_EQ(found.machine.devices[1].node, 0);
  EXPECT_EQ(found.machine.devices[2].node, 1);
  EXPECT_THAT(to_text(found), HasSubstr("gpu"));
  EXPECT_THAT(to_text(found), HasSubstr("assumed to have 2 devices and one process each"));
  strategy.made_on->nodes = 3;
  EXPECT_THAT([&] { inspect_classes(PlanFile(strategy).path, {}); },
              ThrowsMessage<Error>(HasSubstr("how many each node has; describe")));
  strategy.made_on->kinds = {"gpu", "cpu"};
  EXPECT_THAT([&] { inspect_classes(PlanFile(strategy).path, {}); },
              ThrowsMessage<Error>(HasSubstr("which kind each device has; describe")));
}

TEST(InspectClasses, AClusterFileSaysWhatThePlanDoesNot) {
  PlanFile plan(made_plan({}));
  std::string cluster = plan.folder.write("cluster.toml",
                                          "[[nodes]]\nname = \"big\"\ndevices = 3\nkind = \"gpu\"\n"
                                          "[[nodes]]\nname = \"small\"\nkind = \"gpu\"\n");
  ClassInspection found = inspect_classes(plan.path, cluster);
  ASSERT_THAT(found.programs[0].classes, SizeIs(2));
  EXPECT_EQ(found.programs[0].classes[1].difference, "its node has 1 device instead of 3");
  EXPECT_THAT(to_text(found), HasSubstr("3 (small.0)"));
}

TEST(InspectClasses, SpeaksOfTheChunksOfLayersThatAreCut) {
  Strategy strategy = made_plan({"rnnlm", "wavefront", 8, 2});
  strategy.made_on = {.devices = 2, .nodes = 1, .kinds = {"cpu"}};
  ClassInspection found = inspect_classes(PlanFile(strategy).path, {});
  ASSERT_THAT(found.programs[0].classes, SizeIs(2));
  EXPECT_THAT(found.programs[0].classes[1].difference, HasSubstr("lstm.0/"));
}

TEST(InspectClasses, ListsMayHaveTheDevicesOfEachChunk) {
  Strategy strategy = made_plan({.model = "rnnlm", .devices = 2});
  strategy.splits["lstm.0"] = {.devices = {DeviceId(0u), DeviceId(1u)}, .chunks = 2};
  strategy.made_on = {.devices = 2, .nodes = 1, .kinds = {"cpu"}};
  ClassInspection found = inspect_classes(PlanFile(strategy).path, {});
  ASSERT_THAT(found.programs[0].classes, SizeIs(2));
  EXPECT_THAT(found.programs[0].classes[1].difference, HasSubstr("lstm.0/"));
}

TEST(InspectClasses, RefusesWhatIsNotAPlan) {
  TemporaryFolder folder;
  EXPECT_THAT([&] { inspect_classes(folder.path(), {}); },
              ThrowsMessage<Error>(HasSubstr("is not a plan; give a plan file")));
  EXPECT_THAT(
      [&] { inspect_classes(folder.write("c.json", R"({"format":"troika costs 2"})"), {}); },
      ThrowsMessage<Error>(HasSubstr("is not a plan; give a plan file")));
  EXPECT_THAT([&] { inspect_classes(folder.path() / "none", {}); },
              ThrowsMessage<Error>(HasSubstr("does not exist")));
}

TEST(InspectClasses, SaysWhatAPlanLacks) {
  Strategy plan = made_plan({});
  plan.made_for_batch.reset();
  EXPECT_THAT([&] { inspect_classes(PlanFile(plan).path, {}); },
              ThrowsMessage<Error>(HasSubstr("does not say which global batch it is for")));
  plan.made_for.reset();
  EXPECT_THAT([&] { inspect_classes(PlanFile(plan).path, {}); },
              ThrowsMessage<Error>(HasSubstr("does not say which model it is for")));
  plan = made_plan({});
  plan.splits["conv1"].first = 2'000'000'000;
  EXPECT_THAT([&] { inspect_classes(PlanFile(plan).path, {}); },
              ThrowsMessage<Error>(HasSubstr("devices")));
}

TEST(InspectClasses, EveryClassOfTheReadyPlansHasAReasonOfItsOwn) {
  for (const char* model : {"lenet", "mlp", "googlenet"})
    for (std::string_view plan : ready_names()) {
      Strategy strategy = made_plan({model, std::string(plan), 10, 4});
      strategy.made_on = {.devices = 4, .nodes = 1, .kinds = {"cpu"}};
      ClassInspection found = inspect_classes(PlanFile(strategy).path, {});
      const std::vector<ExplainedClass>& classes = found.programs[0].classes;
      for (std::size_t at = 1; at < classes.size(); ++at) {
        EXPECT_NE(classes[at].difference, "") << model << " " << plan;
        EXPECT_NE(classes[at].difference, "its partners differ") << model << " " << plan;
      }
    }
}

}  // namespace
}  // namespace troika::cli
