// Recurrent layers that are cut over time and over hidden units compute what whole ones do.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_training.h"

namespace troika {
namespace {

constexpr std::int64_t kSteps = 7;  // odd, so that chunks have several lengths

struct Network {
  std::string cell;
  bool bidirectional = false;
  bool has_lengths = false;
  double dropout = 0;
};

std::string text(const Network& network) {
  return fmt::format("{}{}{}{}", network.cell, network.bidirectional ? " bidirectional" : "",
                     network.has_lengths ? " lengths" : "", network.dropout > 0 ? " dropout" : "");
}

zoo::Model build(const Network& network) {
  zoo::ModelRequest request = zoo::small_request("rnntc");
  request.options = {{"hidden", std::int64_t{5}},
                     {"layers", std::int64_t{2}},
                     {"cell", network.cell},
                     {"bidirectional", network.bidirectional},
                     {"dropout", network.dropout}};
  request.samples = zoo::tokens(kSteps, {});
  request.samples.dtype = DType::f64;
  request.samples.batch = 6;
  if (network.has_lengths) request.samples.fields.push_back({"length", {{}, DType::i32}});
  return zoo::build(request);
}

/// The state before and after one step with the learning rate 1, so that weights move by their
/// gradients.
struct OneStep {
  std::vector<StateTensor> before, after;
  double loss = 0;
};

OneStep train_one_step(const Network& network, std::int64_t devices, const Strategy& strategy) {
  RunConfig config = config_for({.model = "rnntc"}, devices);
  LiveModel live(set_up_runtime(config.kernels, config.parallel));
  zoo::Model model = build(network);
  live.add_training(model, config, strategy);
  live.start();
  live.initialize(5);
  Session& session = live.session();
  session.write_scalar(Scalar::learning_rate, 1);
  session.write_scalar(Scalar::key_low, 77);
  session.write_scalar(Scalar::update_step, 1);
  OneStep step{.before = read_tensors(session, model)};
  step.loss = run_small_step(session, model, 3)[0];
  step.after = read_tensors(session, model);
  return step;
}

void expect_same_gradients(const Network& network, std::int64_t devices, const Strategy& strategy) {
  SCOPED_TRACE(text(network) + "\n" + to_json(strategy));
  OneStep truth = train_one_step(network, 1, Strategy::single());
  OneStep found = train_one_step(network, devices, strategy);
  EXPECT_EQ(found.before, truth.before);
  EXPECT_NEAR(found.loss, truth.loss, 1e-12 * truth.loss);
  Comparison result = compare_movements({truth.before, found.after, truth.after}, 1e-12);
  EXPECT_FALSE(result.first) << result.largest.tensor << " is " << result.largest.distance
                             << " away";
}

/// The same split for all recurrent layers.
Strategy on_layers(const Network& network, const Split& split) {
  Strategy strategy;
  Graph graph = build(network).graphs[0].graph;
  for (const Operator& op : graph.operators)
    if (std::holds_alternative<Recurrent>(op.op)) strategy.splits[op.name] = split;
  return strategy;
}

class RecurrentCuts : public testing::TestWithParam<Network> {};

TEST_P(RecurrentCuts, OverTimeGiveTheGradientsOfWholeLayers) {
  for (std::int64_t chunks : {std::int64_t{2}, std::int64_t{3}, std::int64_t{5}, kSteps})
    expect_same_gradients(GetParam(), 1, on_layers(GetParam(), {.chunks = chunks}));
}

TEST_P(RecurrentCuts, OverTimeInAWavefront) {
  Strategy strategy = on_layers(GetParam(), {.chunks = 3});
  for (auto& [name, split] : strategy.splits) split.first = name.find(".1") != name.npos ? 1 : 0;
  expect_same_gradients(GetParam(), 2, strategy);
}

TEST_P(RecurrentCuts, OverTimeOnDevicesOfTheirOwn) {
  expect_same_gradients(GetParam(), 3, on_layers(GetParam(), {.chunks = 3, .chunk_stride = 1}));
}

TEST_P(RecurrentCuts, OverHiddenUnits) {
  expect_same_gradients(GetParam(), 3,
                        on_layers(GetParam(), {.factors = {{"u", 3}}, .chunks = kSteps}));
}

TEST_P(RecurrentCuts, OverHiddenUnitsSamplesAndTime) {
  Split split{.factors = {{.axis = "n", .degree = 2, .stride = 2}, {"u", 2}},
              .chunks = kSteps,
              .chunk_stride = 1};
  expect_same_gradients(GetParam(), 10, on_layers(GetParam(), split));
}

std::vector<Network> all_networks() {
  std::vector<Network> all;
  for (const char* cell : {"lstm", "gru", "rnn"})
    for (bool bidirectional : {false, true})
      for (bool has_lengths : {false, true})
        all.push_back({cell, bidirectional, has_lengths, has_lengths ? 0.3 : 0});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Kinds, RecurrentCuts, testing::ValuesIn(all_networks()),
                         [](const auto& row) {
                           std::string name = text(row.param);
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

TEST(RecurrentCutsOfAStack, AlternateWithTheDropoutBetweenThem) {
  // One direction: the second layer takes over the chunks of the first.
  Network network{.cell = "lstm", .dropout = 0.4};
  Strategy strategy;
  strategy.splits = {{"lstm.0", {.chunks = 3}},
                     {"lstm.1.dropout", {.first = 1}},
                     {"lstm.1", {.first = 1, .chunks = 3}}};
  expect_same_gradients(network, 2, strategy);
}

TEST(RecurrentCutsOfAStack, MayPlaceTheInputProjectionOnItsOwn) {
  Network network{.cell = "gru", .has_lengths = true};
  Strategy strategy;
  strategy.splits = {{"gru.0", {.chunks = 2}}, {"gru.0/input", {.factors = {{"u", 2}, {"i", 2}}}}};
  expect_same_gradients(network, 4, strategy);
}

TEST(RecurrentCutsOfAStack, GoWithMicroBatches) {
  Network network{.cell = "lstm", .has_lengths = true, .dropout = 0.2};
  Strategy strategy = on_layers(network, {.factors = {{"u", 2}}, .chunks = kSteps});
  strategy.micro_batches = 3;
  expect_same_gradients(network, 2, strategy);
}

}  // namespace
}  // namespace troika
