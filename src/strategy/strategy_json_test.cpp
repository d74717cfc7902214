#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "graph/text.h"
#include "strategy/ready.h"
#include "strategy/testing/tiny_model.h"
#include "strategy/tiles.h"

namespace troika {
namespace {

using testing::ElementsAre;

TEST(StrategyJson, ReadsBackToTheSameStrategy) {
  Strategy strategy{.micro_batches = 2};
  strategy.splits["fc"] = {
      .factors = {{.axis = "n", .degree = 2, .weights = {0.75, 2}}, {"o", 1}, {"", 2}},
      .devices = devices({0, 1, 2, 3})};
  strategy.splits["view"] = {.factors = {{"n", 4, 8},
                                         {.axis = "o", .degree = 2, .stride = 0, .weights = {1, 3}},
                                         {"n", 2}},
                             .first = 5};
  strategy.splits["whole"] = {};
  strategy.sync = {.sliced_update = true,
                   .bucket = Bytes{1000},
                   .overlap = false,
                   .carry_updates = false,
                   .priorities = false,
                   .fixed_order = true,
                   .algorithms = "ring:8KiB-max",
                   .buckets = {{"a", "b"}, {"c"}},
                   .message_order = {"d c", "x#1 for fc forward"}};
  strategy.made_for_batch = 64;
  strategy.optimizer = {{"name", "adam"},      {"learning_rate", "0.001"}, {"nesterov", "true"},
                        {"epsilon", "1.0e-8"}, {"schedule.warmup", "5%"},  {"group", "[{ a = 1 }]"},
                        {"text", "\"128\""}};
  EXPECT_EQ(parse_strategy(to_json(strategy)), strategy);
  Strategy made = parse_strategy(to_json(strategy, parse_graph(kTinyModel)));
  EXPECT_EQ(made.made_for.value().name, "tiny");
  EXPECT_EQ(parse_strategy(to_json(made)), made);
  EXPECT_NE(made, strategy);
}

TEST(StrategyJson, SaysOnWhichMachineItWasMade) {
  Machine machine{{{.kind = "big", .node = 3}, {.kind = "small"}, {.kind = "big", .node = 3}}};
  Strategy made = parse_strategy(to_json(Strategy::single(), parse_graph(kTinyModel), machine));
  EXPECT_EQ(made.made_on, (PlannedMachine{.devices = 3, .nodes = 2, .kinds = {"big", "small"}}));
  EXPECT_EQ(parse_strategy(to_json(made)), made);
}

TEST(StrategyJson, ReadsPlansOfTheFirstVersion) {
  Strategy read = parse_strategy(R"({"format": "troika plan 1", "model": "tiny",
    "model_hash": "0123456789abcdef", "machine": {"devices": 8, "nodes": 2, "kinds": ["cpu"]},
    "micro_batches": 3, "sync": {"sliced_update": true, "bucket": 1000},
    "splits": {"fc": {"degrees": {"o": 2, "n": 2}, "replicas": 2, "weights": {"n": [1, 2]},
                      "devices": [7, 6, 5, 4, 3, 2, 1, 0]},
               "loss": {"degrees": {}, "weights": {"n": [2]}, "devices": [3]}}})");
  Strategy expected{.micro_batches = 3};
  expected.splits["fc"] = {
      .factors = {{"o", 2}, {.axis = "n", .degree = 2, .weights = {1, 2}}, {"", 2}},
      .devices = devices({7, 6, 5, 4, 3, 2, 1, 0})};
  expected.splits["loss"] = {.factors = {{.axis = "n", .weights = {2}}}, .devices = devices({3})};
  expected.sync = {.sliced_update = true, .bucket = Bytes{1000}};
  expected.made_for = PlannedModel{"tiny", "0123456789abcdef"};
  expected.made_on = PlannedMachine{.devices = 8, .nodes = 2, .kinds = {"cpu"}};
  EXPECT_EQ(read, expected);
  EXPECT_EQ(parse_strategy(to_json(read)), read);

  // Row-major over the axes of the signature, n before o, whatever the order in the file.
  Graph graph = parse_graph(kTinyModel);
  std::vector<std::string> tiles;
  for (const Tile& tile : tiles_of(signature(graph, graph.operators[0]), read.splits.at("fc"), {}))
    tiles.push_back(to_string(tile.box) + "@" + std::to_string(tile.device.value));
  EXPECT_THAT(tiles, ElementsAre("[0:2,0:1,0:3]@7", "[0:2,0:1,0:3]@6", "[0:2,1:2,0:3]@5",
                                 "[0:2,1:2,0:3]@4", "[2:6,0:1,0:3]@3", "[2:6,0:1,0:3]@2",
                                 "[2:6,1:2,0:3]@1", "[2:6,1:2,0:3]@0"));
}

TEST(StrategyJson, WritesOneLineForEachListedMessage) {
  Strategy strategy;
  strategy.sync.message_order = {"d fc.weight", "sum of loss"};
  EXPECT_THAT(to_json(strategy), testing::HasSubstr(R"("algorithms": "", "message_order": [
    "d fc.weight",
    "sum of loss"]},
  "splits")"));
  EXPECT_EQ(parse_strategy(to_json(strategy)), strategy);
}

TEST(StrategyJson, WritesOneLineForEachOperator) {
  Strategy strategy;
  strategy.splits["conv1"] = {.factors = dense({{"n", 4}, {"o", 8}})};
  strategy.splits["fc"] = {.first = 3};
  strategy.splits["halves"] = {.factors = {{"n", 4, 8}, {"n", 2, 0}, {"", 2, 4}}};
  strategy.splits["odd"] = {.factors = {{.axis = "n", .degree = 3, .weights = {1, 2, 1.5}}},
                            .devices = devices({4, 0, 2})};
  strategy.splits["whole"] = {};
  strategy.made_for = PlannedModel{"gpt2", "", {{"layers", "3"}, {"norm", "pre"}}};
  strategy.made_for_batch = 32;
  strategy.optimizer = {{"name", "sgd"}, {"momentum", "0.9"}};
  EXPECT_EQ(to_json(strategy), R"({
  "format": "troika plan 2",
  "model": "gpt2",
  "model_options": {"layers": 3, "norm": "pre"},
  "global_batch": 32,
  "optimizer": {"name": "sgd", "momentum": 0.9},
  "micro_batches": 1,
  "sync": {"sliced_update": false, "bucket": 4194304, "buckets": [], "overlap": true, "carry_updates": true, "priorities": true, "fixed_order": false, "algorithms": ""},
  "splits": {
    "conv1": {"factors": [{"n": 4}, {"o": 8}]},
    "fc": {"first": 3},
    "halves": {"factors": [{"n": 4, "stride": 8}, {"n": 2, "stride": 0}, {"replicas": 2, "stride": 4}]},
    "odd": {"factors": [{"n": 3, "weights": [1.0, 2.0, 1.5]}], "devices": [4, 0, 2]},
    "whole": {}
  }
}
)");
  EXPECT_EQ(parse_strategy(to_json(strategy)), strategy);
}

TEST(StrategyJson, TheTextDoesNotGrowWithTheDevices) {
  Graph graph = parse_graph(R"(graph wide
input x f32[9216,3]
parameter fc.weight f32[2,3] zeros
operator fc linear{out=2} (x) [fc.weight] -> fc
)");
  auto text_on = [&](std::size_t devices) {
    return to_json(data_parallel(graph, {std::vector<DeviceSpec>(devices)}));
  };
  EXPECT_LE(text_on(9216).size(), text_on(4).size() + 3);
}

TEST(StrategyJson, WhatIsNotNamedHasItsDefault) {
  EXPECT_EQ(parse_strategy(R"({"format": "troika plan 2"})"), Strategy::single());
  Strategy expected;
  expected.splits["a"] = {.factors = {{"n", 4, 6}, {"h", 5, 0}, {"o", 3, 2}, {"", 2, 1}}};
  expected.splits["b"] = {};
  EXPECT_EQ(parse_strategy(R"({"format": "troika plan 2", "sync": {}, "splits": {"b": {},
    "a": {"factors": [{"n": 4}, {"h": 5, "stride": 0}, {"o": 3}, {"replicas": 2}]}}})"),
            expected);
}

TEST(StrategyJson, AModelWithoutItsHashIsAnyModel) {
  Strategy made = parse_strategy(R"({"format": "troika plan 2", "model": "gpt2"})");
  EXPECT_EQ(made.made_for, (PlannedModel{"gpt2", ""}));
  EXPECT_EQ(why_for_another_model(made, parse_graph(kTinyModel)), std::nullopt);
}

TEST(StrategyJson, SaysThatTheBatchIsAnotherOne) {
  Strategy made{.made_for_batch = 64};
  EXPECT_EQ(batch_note(made, 48),
            "; the plan was made for a global batch of 64, and this run has 48");
  EXPECT_EQ(batch_note(made, 64), "");
  EXPECT_EQ(batch_note({}, 48), "");
}

/// The message without the line in front, which bad_plan_test.cpp compares.
std::string refusal(const std::string& text) {
  try {
    parse_strategy(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::file);
    std::string message = error.what();
    return message.starts_with("line ") ? message.substr(message.find(": ") + 2) : message;
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

TEST(StrategyJson, RefusesAKeyThatIsThereTwice) {
  EXPECT_EQ(refusal(R"({"format": "troika plan 2", "splits": {"fc": {}, "loss": {}, "fc": {}}})"),
            "the plan cannot be read: it names 'fc' twice at line 1, column 65");
  EXPECT_EQ(refusal(R"( {"format": "troika plan 1", "micro_batches": 1, "splits":
              {"fc": {"degrees": {"n": 2, "n": 4}, "devices": [0, 1]}}})"),
            "the plan cannot be read: it names 'n' twice at line 2, column 45");
  // Equal keys of different objects are not meant.
  EXPECT_EQ(refusal(R"({"format": "troika plan 2",
              "splits": {"fc": {"factors": [{"n": 2}, {"n": 2}]}}})"),
            "none");
}

TEST(StrategyJson, RefusesFactorsThatAreNone) {
  auto with = [](const std::string& split) {
    return refusal(R"({"format": "troika plan 2", "splits": {"fc": )" + split + "}}");
  };
  const std::string rule =
      " for a factor of operator 'fc'; name one axis with its degree, or replicas, and with it "
      "'stride' and 'weights' where they are needed";
  EXPECT_EQ(with(R"({"factors": [{"n": 2, "o": 2}]})"), "the plan has {\"n\": 2, \"o\": 2}" + rule);
  EXPECT_EQ(with(R"({"factors": [{"n": 2, "strid": 2}]})"),
            "the plan has {\"n\": 2, \"strid\": 2}" + rule + "; did you mean 'stride' by 'strid'?");
  EXPECT_EQ(with(R"({"factors": [{"stride": 2}]})"), "the plan has {\"stride\": 2}" + rule);
  EXPECT_EQ(with(R"({"factors": [{"": 2}]})"), "the plan has {\"\": 2}" + rule);
  EXPECT_EQ(with(R"({"factors": {"n": 2}})"),
            "the plan has {\"n\":2} for the factors of 'fc'; a list is needed");
  EXPECT_EQ(
      with(R"({"factors": [{"n": "2"}]})"),
      "the plan has \"2\" for the degree of 'n' in operator 'fc'; an integer from 1 to 1048576 is "
      "needed");
  EXPECT_EQ(with(R"({"factors": [{"n": 2, "stride": 1.5}]})"),
            "the plan has 1.5 for the stride of 'n' in operator 'fc'; an integer from 0 to "
            "2147483647 is needed");
  EXPECT_EQ(with(R"({"factor": []})"),
            "the plan has unknown keys in the split of 'fc': 'factor' (did you mean 'factors'?); "
            "known are factors, first, devices, chunks, chunk_stride");
}

TEST(StrategyJson, RefusesPlacesThatAreNone) {
  auto with = [](const std::string& split) {
    return refusal(R"({"format": "troika plan 2", "splits": {"fc": )" + split + "}}");
  };
  EXPECT_EQ(with(R"({"devices": []})"),
            "the plan lists no device for operator 'fc'; list one for each tile");
  EXPECT_EQ(with(R"({"first": 1, "devices": [0]})"),
            "the plan has both 'first' and 'devices' for operator 'fc'; leave out one of them");
  EXPECT_EQ(with(R"({"factors": [{"n": 2, "stride": 1}], "devices": [0, 1]})"),
            "the plan has both strides and a list of devices for operator 'fc'; leave out one of "
            "them");
  EXPECT_EQ(
      with(R"({"first": -1})"),
      "the plan has -1 for the first device of operator 'fc'; an integer from 0 to 2147483647 "
      "is needed");
}

TEST(StrategyJson, RefusesBucketsAndSettingsThatAreNone) {
  auto with = [](const std::string& rest) {
    return refusal(R"({"format": "troika plan 2", )" + rest + "}");
  };
  EXPECT_EQ(with(R"("sync": {"buckets": ["a"]})"),
            "the plan has \"a\" for a list of 'buckets'; a list is needed");
  EXPECT_EQ(with(R"("sync": {"buckets": [["a", 1]]})"),
            "the plan has 1 among a list of 'buckets'; texts are needed");
  EXPECT_EQ(with(R"("optimizer": {"name": ["adam"]})"),
            "the plan has [\"adam\"] for 'name' in 'optimizer'; a text, a number, true or false is "
            "needed");
  EXPECT_EQ(with(R"("global_batch": "64")"),
            "the plan has \"64\" for 'global_batch'; an integer from 1 to 1000000000000 is needed");
}

TEST(StrategyJson, RefusesNumbersThatAreNone) {
  auto with = [](const std::string& split) {
    return refusal(R"({"format": "troika plan 1", "micro_batches": 1, "splits": {"fc": )" + split +
                   "}}");
  };
  EXPECT_EQ(
      with(R"({"degrees": {"n": 2.5}, "devices": [0]})"),
      "the plan has 2.5 for the degree of 'n' in operator 'fc'; an integer from 1 to 1048576 is "
      "needed");
  EXPECT_EQ(with(R"({"degrees": {"": 2}, "devices": [0, 1]})"),
            "the plan has an axis '' in operator 'fc'; no operator has such an axis, remove it");
  EXPECT_EQ(
      with(R"({"degrees": {}, "devices": [-1]})"),
      "the plan has -1 for a device of operator 'fc'; an integer from 0 to 2147483647 is needed");
  EXPECT_EQ(with(R"({"degrees": {}, "devices": ["a"]})"),
            "the plan has \"a\" for a device of operator 'fc'; an integer from 0 to 2147483647 is "
            "needed");
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
  EXPECT_EQ(
      with_weights(R"({"n": [1, "a"]})"),
      "the plan has \"a\" among the weights of 'n' in operator 'fc'; numbers above 0 are needed");
}

TEST(StrategyJson, DamagedTextIsAnErrorOrAnotherStrategy) {
  Strategy strategy{.micro_batches = 2};
  strategy.splits["fc"] = {.factors = {{.axis = "n", .degree = 2, .weights = {0.75, 2}}},
                           .devices = devices({0, 1})};
  strategy.splits["view"] = {.factors = {{"n", 2, 4}, {"o", 2, 0}}, .first = 1};
  std::string text = to_json(strategy, parse_graph(kTinyModel), one_device());
  RandomStream random{.key = 1};
  int refused = 0;
  for (std::uint64_t trial = 0; trial < 5000; ++trial) {
    std::string damaged = text;
    for (std::uint64_t byte = 0; byte <= trial % 3; ++byte)
      damaged[random.below(6 * trial + 2 * byte, text.size())] =
          "{}[]\",:09-e.x"[random.below(6 * trial + 2 * byte + 1, 13)];
    try {
      Strategy read = parse_strategy(damaged);
      (void)why_infeasible(read, parse_graph(kTinyModel), one_device());
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 2000);
  EXPECT_LT(refused, 5000);
}

TEST(StrategyJson, IsForTheModelItWasMadeForAlone) {
  Graph graph = parse_graph(kTinyModel);
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
