#include "strategy/strategy.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "graph/text.h"

namespace troika {
namespace {

const char* kModel = R"(graph tiny
input x f32[6,3]
parameter fc.weight f32[2,3] zeros
operator fc linear{out=2} (x) [fc.weight] -> fc
)";

std::vector<DeviceId> devices(const std::vector<std::size_t>& indices) {
  std::vector<DeviceId> ids;
  for (std::size_t index : indices) ids.push_back(DeviceId(index));
  return ids;
}

Machine one_device() { return {{{.name = "cpu0"}}}; }

TEST(Strategy, SingleFitsAnyModel) {
  EXPECT_EQ(why_infeasible(Strategy::single(), parse_graph(kModel), one_device()), std::nullopt);
}

TEST(Strategy, SaysWhichOperatorAndAxisIsWrong) {
  Strategy strategy;
  strategy.splits["fc"] = {.degrees = {{"h", 2}}, .devices = devices({0, 0})};
  EXPECT_EQ(why_infeasible(strategy, parse_graph(kModel), one_device()),
            "operator 'fc' has no axis 'h'; it has n, o, i");
  strategy.splits["fc"] = {.degrees = {{"o", 3}}};
  EXPECT_EQ(why_infeasible(strategy, parse_graph(kModel), one_device()),
            "operator 'fc' cannot be split 3 ways along 'o', which has 2 indices; 1 to 2 ways fit");
}

TEST(Strategy, MicroBatchesMustDivideTheBatch) {
  Strategy strategy{.micro_batches = 4};
  EXPECT_EQ(why_infeasible(strategy, parse_graph(kModel), one_device()),
            "operator 'fc' sees a batch of 6, which 4 micro-batches do not divide");
  strategy.micro_batches = 3;
  EXPECT_EQ(why_infeasible(strategy, parse_graph(kModel), one_device()), std::nullopt);
}

TEST(StrategyJson, ReadsBackToTheSameStrategy) {
  Strategy strategy{.micro_batches = 2};
  strategy.splits["fc"] = {.degrees = {{"n", 2}, {"o", 1}},
                           .replicas = 2,
                           .weights = {{"n", {0.75, 2}}},
                           .devices = devices({0, 1, 2, 3})};
  strategy.sync = {.sliced_update = true,
                   .bucket = Bytes{1000},
                   .overlap = false,
                   .carry_updates = false,
                   .priorities = false,
                   .fixed_order = true,
                   .algorithms = "ring:8KiB-max"};
  EXPECT_EQ(parse_strategy(to_json(strategy)), strategy);
  Strategy made = parse_strategy(to_json(strategy, parse_graph(kModel)));
  EXPECT_EQ(made.made_for.value().name, "tiny");
  EXPECT_EQ(parse_strategy(to_json(made)), made);
  EXPECT_NE(made, strategy);
}

TEST(StrategyJson, SaysOnWhichMachineItWasMade) {
  Machine machine{{{.kind = "big", .node = 3}, {.kind = "small"}, {.kind = "big", .node = 3}}};
  Strategy made = parse_strategy(to_json(Strategy::single(), parse_graph(kModel), machine));
  EXPECT_EQ(made.made_on, (PlannedMachine{.devices = 3, .nodes = 2, .kinds = {"big", "small"}}));
  EXPECT_EQ(parse_strategy(to_json(made)), made);
}

TEST(StrategyJson, ReadsPlansOfTheFirstVersion) {
  Strategy read = parse_strategy(R"({"format": "troika plan 1", "micro_batches": 3,
    "splits": {"fc": {"degrees": {"o": 2}, "devices": [0, 1]}}})");
  Strategy expected{.micro_batches = 3};
  expected.splits["fc"] = {.degrees = {{"o", 2}}, .devices = devices({0, 1})};
  EXPECT_EQ(read, expected);
}

std::string refusal(const std::string& text) {
  try {
    parse_strategy(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::file);
    return error.what();
  }
  return "none";
}

TEST(StrategyJson, NamesEveryUnknownKey) {
  EXPECT_EQ(refusal(R"({"format": "troika plan 1", "micro_batch": 1, "splits": {}, "x": 1})"),
            "the plan has unknown keys in the plan: 'micro_batch' (did you mean 'micro_batches'?), "
            "'x'; known are format, model, model_hash, machine, micro_batches, sync, splits");
  EXPECT_EQ(refusal(R"({"format": "troika plan 1", "micro_batches": 1,
              "splits": {"fc": {"degrees": {}, "devices": [0], "replica": 2}}})"),
            "the plan has unknown keys in the split of 'fc': 'replica' (did you mean 'replicas'?); "
            "known are degrees, replicas, weights, devices");
  EXPECT_EQ(refusal(R"({"format": "troika plan 1", "micro_batches": 1, "splits": {},
              "sync": {"buckets": 2}})"),
            "the plan has unknown keys in 'sync': 'buckets' (did you mean 'bucket'?); known are "
            "sliced_update, bucket, overlap, carry_updates, priorities, fixed_order, "
            "algorithms");
}

TEST(StrategyJson, RefusesNumbersThatAreNone) {
  auto with = [](const std::string& split) {
    return refusal(R"({"format": "troika plan 1", "micro_batches": 1, "splits": {"fc": )" + split +
                   "}}");
  };
  EXPECT_EQ(with(R"({"degrees": {"n": 2.5}, "devices": [0]})"),
            "the plan has 2.5 for the degree of 'n' in operator 'fc'; an integer is needed");
  EXPECT_EQ(with(R"({"degrees": {}, "devices": [-1]})"),
            "the plan puts operator 'fc' on device -1; devices count from 0");
  EXPECT_EQ(with(R"({"degrees": {}, "devices": ["a"]})"),
            "the plan has \"a\" for a device of operator 'fc'; an integer is needed");
}

TEST(StrategyJson, RefusesListsForObjectsAndTheOtherWayRound) {
  EXPECT_EQ(refusal(R"({"format": "troika plan 1", "micro_batches": 1, "splits": [1]})"),
            "the plan has [1] for 'splits'; an object is needed");
  EXPECT_EQ(refusal(R"({"format": "troika plan 1", "micro_batches": 1,
              "splits": {"fc": {"degrees": [2], "devices": [0]}}})"),
            "the plan has [2] for the degrees of 'fc'; an object is needed");
  EXPECT_EQ(refusal(R"({"format": "troika plan 1", "micro_batches": 1,
              "splits": {"fc": {"degrees": {}, "devices": {"a": 0}}}})"),
            "the plan has {\"a\":0} for the devices of 'fc'; a list is needed");
}

TEST(StrategyJson, RefusesSwitchesTextsAndWeightsThatAreNone) {
  auto with_sync = [](const std::string& sync) {
    return refusal(R"({"format": "troika plan 1", "micro_batches": 1, "splits": {}, "sync": )" +
                   sync + "}");
  };
  EXPECT_EQ(with_sync(R"({"overlap": 1})"),
            "the plan has 1 for 'overlap'; true or false is needed");
  EXPECT_EQ(with_sync(R"({"algorithms": ["ring"]})"),
            "the plan has [\"ring\"] for 'algorithms'; a text is needed");
  auto with_weights = [](const std::string& weights) {
    return refusal(R"({"format": "troika plan 1", "micro_batches": 1, "splits":
        {"fc": {"degrees": {"n": 2}, "devices": [0, 1], "weights": )" +
                   weights + "}}}");
  };
  EXPECT_EQ(with_weights("3"), "the plan has 3 for the weights of 'fc'; an object is needed");
  EXPECT_EQ(with_weights(R"({"n": 3})"),
            "the plan has 3 for the weights of 'n' in operator 'fc'; a list is needed");
  EXPECT_EQ(with_weights(R"({"n": [1, "a"]})"),
            "the plan has \"a\" among the weights of 'n' in operator 'fc'; numbers are needed");
}

TEST(StrategyJson, DamagedTextIsAnErrorOrAnotherStrategy) {
  Strategy strategy{.micro_batches = 2};
  strategy.splits["fc"] = {
      .degrees = {{"n", 2}}, .weights = {{"n", {0.75, 2}}}, .devices = devices({0, 1})};
  std::string text = to_json(strategy, parse_graph(kModel), one_device());
  RandomStream random{.key = 1};
  int refused = 0;
  for (std::uint64_t trial = 0; trial < 5000; ++trial) {
    std::string damaged = text;
    for (std::uint64_t byte = 0; byte <= trial % 3; ++byte)
      damaged[random.below(6 * trial + 2 * byte, text.size())] =
          "{}[]\",:09-e.x"[random.below(6 * trial + 2 * byte + 1, 13)];
    try {
      Strategy read = parse_strategy(damaged);
      (void)why_infeasible(read, parse_graph(kModel), one_device());
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 2000);
  EXPECT_LT(refused, 5000);
}

TEST(StrategyJson, IsForTheModelItWasMadeForAlone) {
  Graph graph = parse_graph(kModel);
  Graph other = parse_graph(R"(graph wide
input x f32[6,3]
parameter fc.weight f32[4,3] zeros
operator fc linear{out=4} (x) [fc.weight] -> fc
)");
  Strategy made = parse_strategy(to_json(Strategy::single(), graph));
  EXPECT_EQ(why_for_another_model(made, graph), std::nullopt);
  EXPECT_EQ(why_for_another_model(Strategy::single(), other), std::nullopt);
  std::string why = why_for_another_model(made, other).value();
  for (const Graph& model : {graph, other})
    EXPECT_NE(why.find("'" + model.name + "' with hash " +
                       parse_strategy(to_json({}, model)).made_for->hash),
              std::string::npos)
        << why;
}

TEST(StrategyJson, RefusesOtherFiles) {
  for (const char* text : {"", "{}", "[]", "{\"format\":\"troika plan 1\"}", "{\"format\":3}"})
    EXPECT_THROW(parse_strategy(text), Error) << text;
}

}  // namespace
}  // namespace troika
