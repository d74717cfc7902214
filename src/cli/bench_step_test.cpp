#include "cli/bench_step.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/random_inputs.h"
#include "setup/live_model.h"
#include "zoo/zoo.h"

namespace troika::cli {
namespace {

TEST(Median, IsTheMiddleOrTheMeanOfTheTwo) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({}), 0);
}

TEST(GroupTasks, AddsTasksOfOneKindAndPutsTheLongestFirst) {
  TaskFigures first{.name = "fc1 forward",
                    .kind = "linear forward",
                    .algorithm = "gemm",
                    .tasks = 1,
                    .milliseconds = 1,
                    .flops = {10}};
  TaskFigures second = first, other = first;
  second.name = "fc2 forward";
  second.milliseconds = 2;
  other.kind = "conv2d forward";
  other.milliseconds = 5;
  std::vector<TaskFigures> groups = group_tasks({first, other, second});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].name, "conv2d forward");
  EXPECT_EQ(groups[1].tasks, 2);
  EXPECT_EQ(groups[1].milliseconds, 3);
  EXPECT_EQ(groups[1].flops.count, 20);
}

TEST(RandomInput, KeepsTokensBelowTheVocabularyAndWeightsAtOne) {
  zoo::Model model = zoo::build(
      {.name = "rnnlm",
       .options = {{"hidden", std::int64_t{8}}},
       .samples = {.batch = 4, .fields = {{"input", {{16}, DType::i32}}}, .classes = 11}});
  const Graph& graph = model.train();
  auto largest = [&](const char* name) {
    std::vector<std::byte> bytes = random_input(graph, find_tensor(graph, name));
    const auto* tokens = reinterpret_cast<const std::int32_t*>(bytes.data());
    return *std::max_element(tokens, tokens + bytes.size() / sizeof(std::int32_t));
  };
  EXPECT_EQ(largest("input"), 10);
  EXPECT_EQ(largest("target"), 10);
  std::vector<std::byte> bytes = random_input(graph, find_tensor(graph, "weight"));
  const auto* weights = reinterpret_cast<const float*>(bytes.data());
  EXPECT_EQ(std::count(weights, weights + bytes.size() / sizeof(float), 1.0F), 64);
}

TEST(BenchCase, OfTheSmallGptHasItsOwnDepthAndWidth) {
  BenchCase small = make_bench_case({.model = "gpt2-small"});
  zoo::Model model = build_model(small.config.model, small.samples);
  EXPECT_EQ(model.name, "gpt2");
  EXPECT_EQ(model.train()[find_tensor(model.train(), "target")].spec.shape, (Shape{4, 128}));
  std::int64_t parameters = 0;
  for (const Parameter& parameter : model.train().parameters)
    parameters += parameter.spec.shape.elements();
  // Two embeddings, four blocks of 12 width^2 + 13 width, the last norm; the head shares wte.
  EXPECT_EQ(parameters, (50'304 + 128) * 256 + 4 * (12 * 256 * 256 + 13 * 256) + 2 * 256);
}

TEST(BenchCase, HasThePublishedSizes) {
  BenchCase gpt2 = make_bench_case({.model = "gpt2"});
  EXPECT_EQ(gpt2.samples.batch, 4);
  EXPECT_EQ(gpt2.samples.classes, 50'304);
  EXPECT_EQ(gpt2.samples.find("input")->spec, (TensorSpec{{256}, DType::i32}));
  EXPECT_EQ(gpt2.config.optimizer.kind, OptimizerConfig::Kind::adamw);
  BenchCase resnet = make_bench_case({.model = "resnet50", .batch = 3, .threads = 1});
  EXPECT_EQ(resnet.samples.batch, 3);
  EXPECT_EQ(resnet.config.parallel.threads, 1);
  EXPECT_EQ(resnet.config.optimizer.momentum, 0.9);
}

TEST(MeasureStep, TimesEveryTaskOfATinyModel) {
  StepFigures figures = measure_step(
      {.model = "lenet", .batch = 2, .threads = 1, .repeats = 3, .backend = "reference"});
  EXPECT_EQ(figures.repeats.size(), 3u);
  EXPECT_GT(figures.step_ms, 0);
  double sum = 0;
  for (const TaskFigures& task : figures.tasks) sum += task.milliseconds;
  EXPECT_GT(sum, 0.3 * figures.step_ms);
  EXPECT_LT(sum, 1.5 * figures.step_ms);
  EXPECT_GT(figures.peak.count, figures.memory.total().count);
}

}  // namespace
}  // namespace troika::cli
