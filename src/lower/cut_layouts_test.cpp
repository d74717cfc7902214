// Chunks of a recurrent layer share its weights, so a layout that their kernels prefer is made once
// a step, not once a chunk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/layers_recurrent.h"
#include "lower/testing/lowered.h"

namespace troika {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kSteps = 8, kHidden = 4;

/// A kernel for packed weights gains 5 us, and to pack them takes 12 us, more than two chunks gain;
/// forward wants them turned. Updates take plain weights only.
void offer_packed(const KernelKey& key, std::vector<Candidate>& candidates) {
  Candidate& plain = candidates[0];
  plain.flat = false;
  if (std::holds_alternative<Reorder>(key.op)) plain.time = SimTime{12'000};
  bool is_layer = std::holds_alternative<Recurrent>(key.op);
  if (!is_layer && !std::holds_alternative<GateProjection>(key.op)) return;
  plain.time = SimTime{15'000};
  Candidate packed = plain;
  packed.algorithm = "packed", packed.time = SimTime{10'000};
  Signature s = signature(key.op, key.inputs);
  const std::vector<Use>& uses = s.at(key.phase).uses;
  for (std::size_t at = 0; at < uses.size(); ++at)
    if (uses[at] == read(uses[at].slot) &&
        s.slots[as_index(uses[at].slot)].name == (is_layer ? "w_hh" : "w_ih"))
      packed.layouts[at] = key.phase == Phase::forward ? Layout::turned_panels8 : Layout::panels8;
  if (packed.layouts != plain.layouts) candidates.push_back(packed);
}

/// A stack of layers and a loss, trained.
struct CutStack : Lowered {
  explicit CutStack(layers::RecurrentOptions options, std::int64_t steps = kSteps) {
    GraphBuilder b("stack");
    TensorId x = b.input("x", {{4, steps, 3}, DType::f32});
    TensorId target = b.input("target", {{4, steps}, DType::i32});
    TensorId weight = b.input("weight", {{4, steps}, DType::f32});
    options.hidden = kHidden;
    TensorId y = layers::recurrent(b, "rnn", x, options).y;
    b.loss("loss", CrossEntropy{}, {y, target, weight});
    graph = b.finish();
    optimizer.rules.clear();
    for (const Parameter& parameter : graph.parameters)
      optimizer.rules.emplace(parameter.name, Sgd{});
    kernels.revise = offer_packed;
  }

  TaskGraph run_on(std::size_t devices) {
    machine.devices.resize(devices);
    LowerRequest asked = request();
    asked.outputs.clear();
    return Lowered::run(asked);
  }
};

/// The reorders of a parameter, by name, one for each device that has it.
std::vector<std::string> reorders_of(const TaskGraph& graph, const std::string& parameter) {
  std::vector<std::string> found;
  for (const Task& task : graph.tasks)
    if (std::holds_alternative<Reorder>(task.key.op) && task.name.find(parameter) != task.name.npos)
      found.push_back(task.name);
  std::ranges::sort(found);
  return found;
}

template <class Kind>
void expect_all_packed(const TaskGraph& graph, const std::string& names) {
  std::int64_t packed = 0;
  for (const Task& task : graph.tasks) {
    if (!std::holds_alternative<Kind>(task.key.op) || !task.name.starts_with(names)) continue;
    if (task.key.phase == Phase::backward_weight) continue;  // it does not read the weight
    EXPECT_EQ(task.choice.algorithm, "packed") << task.name;
    ++packed;
  }
  EXPECT_GE(packed, 2 * kSteps);
}

TEST(CutLayouts, HiddenWeightsArePackedOnceAStepForAllChunks) {
  CutStack stack({.bidirectional = true});
  for (const char* layer : {"rnn.0", "rnn.0.reverse"}) stack.strategy.splits[layer].chunks = kSteps;
  TaskGraph graph = stack.run_on(1);
  expect_all_packed<Recurrent>(graph, "rnn.0");
  EXPECT_THAT(reorders_of(graph, "rnn.0.w_hh"),
              ElementsAre("rnn.0.w_hh to panels8", "rnn.0.w_hh to turned_panels8"));
  EXPECT_THAT(reorders_of(graph, "rnn.0.reverse.w_hh"),
              ElementsAre("rnn.0.reverse.w_hh to panels8", "rnn.0.reverse.w_hh to turned_panels8"));
}

TEST(CutLayouts, EachDeviceOfALayerPacksItsOwnWeights) {
  CutStack stack({});
  stack.strategy.splits["rnn.0"] = {.factors = {{"n", 2}}, .chunks = kSteps};
  TaskGraph graph = stack.run_on(2);
  expect_all_packed<Recurrent>(graph, "rnn.0");
  EXPECT_EQ(reorders_of(graph, "rnn.0.w_hh").size(), 2u * 2u);
}

/// Layouts are decided for at most 20 operators at a time.
TEST(CutLayouts, SeveralRegionsOfChunksSharePackedWeights) {
  CutStack stack({}, 50);
  stack.strategy.splits["rnn.0"].chunks = 50;
  TaskGraph graph = stack.run_on(1);
  expect_all_packed<Recurrent>(graph, "rnn.0");
  EXPECT_THAT(reorders_of(graph, "rnn.0.w_hh"),
              ElementsAre("rnn.0.w_hh to panels8", "rnn.0.w_hh to turned_panels8"));
}

TEST(CutLayouts, TooFewChunksDoNotPayForPacking) {
  CutStack stack({});
  stack.strategy.splits["rnn.0"].chunks = 2;
  EXPECT_THAT(reorders_of(stack.run_on(1), "rnn.0.w_hh"), ElementsAre());
}

TEST(CutLayouts, WeightsOfTheInputProjectionsOfChunksArePackedOnceAStep) {
  CutStack stack({.layers = 2});
  stack.strategy.splits["rnn.0"] = {.chunks = kSteps};
  stack.strategy.splits["rnn.1"] = {.first = 1, .chunks = kSteps};
  TaskGraph graph = stack.run_on(2);
  expect_all_packed<GateProjection>(graph, "rnn.1/input/");
  EXPECT_THAT(reorders_of(graph, "rnn.1.w_ih"),
              ElementsAre(HasSubstr("to panels8"), HasSubstr("to turned_panels8")));
}

}  // namespace
}  // namespace troika
