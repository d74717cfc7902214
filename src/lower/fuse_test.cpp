#include "lower/fuse.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lower/testing/lowered.h"

namespace troika {
namespace {

TEST(Fuse, MergesWhatTheTableOffersAndNothingThatIsReadTwice) {
  Lowered lowered;
  lowered.kernels.fuses = true;
  std::vector<std::string> tasks = names(lowered.run());
  // h is read by relu and by the sum, so the chain of `a` ends with the bias.
  EXPECT_EQ(tasks[0], "a forward +1");
  EXPECT_EQ(std::ranges::count(tasks, "relu forward"), 1);
}

TEST(Fuse, KeepsAValueThatTheHostReads) {
  Lowered lowered;
  lowered.kernels.fuses = true;
  lowered.graph.outputs.push_back({"product", find_tensor(lowered.graph, "a")});
  EXPECT_TRUE(writes(lowered.forward({"logits", "product"}), "a"));
  EXPECT_FALSE(writes(lowered.forward({"logits"}), "a"));
}

TEST(Fuse, KeepsAValueThatAViewShows) {
  Lowered lowered;
  lowered.kernels.fuses = true;
  lowered.graph = parse_graph(R"(graph view
input x f32[8,4]
parameter a.weight f32[6,4] zeros
parameter a.bias f32[6] zeros
operator a linear{out=6} (x) [a.weight] -> a
operator flat reshape{shape=[48]} (a) [] -> flat
operator a.bias bias{} (a) [a.bias] -> h
output flat flat
output logits h
)");
  EXPECT_TRUE(writes(lowered.forward({"logits", "flat"}), "a"));
}

// A block of a residual network: the sum's second operand is the value that the norm makes.
constexpr const char* kResidual = R"(graph residual
input x f32[8,4,2,2]
input target i32[8]
input weight f32[8]
parameter norm.gamma f32[4] ones
parameter norm.beta f32[4] zeros
parameter norm.running_mean f32[4] zeros state
parameter norm.running_var f32[4] ones state
parameter scale.weight f32[4] ones
parameter first.gamma f32[4] ones
parameter first.beta f32[4] zeros
parameter first.running_mean f32[4] zeros state
parameter first.running_var f32[4] ones state
parameter b.weight f32[3,16] uniform 0.5
operator scale bias{dim=1} (x) [scale.weight] -> h
operator first batch_norm{} (h) [first.gamma first.beta first.running_mean first.running_var] -> f
operator bent activation{} (f) [] -> g
operator norm batch_norm{} (g) [norm.gamma norm.beta norm.running_mean norm.running_var] -> n
operator add binary{} (h n) [] -> s
operator relu activation{} (s) [] -> r
operator flat reshape{shape=[8,16]} (r) [] -> flat
operator b linear{out=3} (flat) [b.weight] -> logits
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
output logits logits
loss loss_sum weight_sum
)";

const Task& find_task(const TaskGraph& graph, const std::string& name) {
  auto found = std::ranges::find(graph.tasks, name, &Task::name);
  if (found == graph.tasks.end()) throw Bug("no task " + name);
  return *found;
}

std::vector<std::string> operands(const TaskGraph& graph, const Task& task) {
  std::vector<std::string> list;
  for (const BufferUse& use : task.uses) list.push_back(graph[use.buffer].name);
  return list;
}

struct Residual : Lowered {
  Residual() {
    graph = parse_graph(kResidual);
    optimizer = {.rules = {{"b.weight", Sgd{}}, {"scale.weight", Sgd{}}}};
    for (const char* name : {"norm.gamma", "norm.beta", "first.gamma", "first.beta"})
      optimizer.rules[name] = Sgd{};
    kernels.fuses = true;
  }
};

TEST(Fuse, ANormTakesTheSumAndTheActivationBehindItAndKeepsWhatBackwardNeeds) {
  TaskGraph graph = Residual().run();
  const Task& norm = find_task(graph, "norm forward +2");
  EXPECT_EQ(operands(graph, norm),
            (std::vector<std::string>{"g", "norm.gamma", "norm.beta", "norm.mean", "norm.inv_std",
                                      "d norm.running_mean", "d norm.running_var", "h", "r"}));
  EXPECT_EQ(norm.uses.size(), operands_of(norm.key).size());
}

TEST(Fuse, TheGradientOfAnActivationIsTakenByTheNormBeforeIt) {
  TaskGraph graph = Residual().run();
  const Task& first = find_task(graph, "first backward +1");
  EXPECT_EQ(operands(graph, first),
            (std::vector<std::string>{"h", "d norm.x", "first.gamma", "first.mean", "first.inv_std",
                                      "g", "d first.x", "d first.gamma", "d first.beta"}));
  // The gradient behind the last activation goes to both operands of the sum.
  EXPECT_NO_THROW(find_task(graph, "relu backward_data"));
}

TEST(Fuse, WhatReadsAnotherResultOfAFusedOperatorRunsBehindTheChain) {
  // The statistics of each micro-batch are added up behind its norm, which runs with the
  // activation.
  Residual residual;
  for (Operator& op : residual.graph.operators)
    if (auto* norm = std::get_if<BatchNorm>(&op.op)) norm->shards = 4;
  residual.strategy.micro_batches = 4;
  std::vector<std::string> tasks = names(residual.run());
  for (const char* part : {"#0", "#1", "#2", "#3"})
    EXPECT_EQ(std::ranges::count(tasks, fmt::format("norm forward{} +2", part)), 1);
}

TEST(Fuse, AFusedKernelThatTakesLongerThanItsTasksIsLeftOut) {
  Lowered lowered;
  lowered.kernels.fuses = true;
  lowered.kernels.fused_time = SimTime{2001};
  EXPECT_EQ(names(lowered.run())[0], "a forward");
  lowered.kernels.fused_time = SimTime{2000};
  EXPECT_EQ(names(lowered.run())[0], "a forward +1");
}

}  // namespace
}  // namespace troika
