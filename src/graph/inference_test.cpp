#include "graph/inference.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/layers.h"
#include "graph/text.h"

namespace troika {
namespace {

Graph trained() {
  GraphBuilder b("net");
  TensorId x = b.input("x", {{4, 3, 5, 5}, DType::f32});
  TensorId target = b.input("target", {{4}, DType::i32});
  TensorId weight = b.input("weight", {{4}, DType::f32});
  x = layers::batch_norm(b, "norm", x);
  x = layers::dropout(b, "drop1", layers::flatten(b, "flatten", x), 0.5);
  x = layers::linear(b, "fc", x, {.out = 2});
  x = layers::dropout(b, "drop2", x, 0.5);
  b.output("logits", x);
  b.loss("loss", CrossEntropy{}, {x, target, weight});
  return b.finish();
}

TEST(Inference, HasNoDropoutAndRunningStatistics) {
  Graph graph = inference(trained());
  for (const Operator& op : graph.operators) {
    EXPECT_FALSE(std::holds_alternative<Dropout>(op.op)) << op.name;
    const auto* norm = std::get_if<BatchNorm>(&op.op);
    EXPECT_TRUE(!norm || !norm->training) << op.name;
  }
  EXPECT_EQ(graph.operators.size(), trained().operators.size() - 2);
}

TEST(Inference, ReadersOfADropoutReadItsInput) {
  Graph graph = inference(trained());
  auto reads = [&](const char* op) {
    auto found = std::ranges::find(graph.operators, op, &Operator::name);
    return graph[found->inputs[0]].name;
  };
  EXPECT_EQ(reads("fc"), "flatten");
  EXPECT_EQ(reads("loss"), "fc.bias");
  EXPECT_EQ(graph[graph.outputs[0].tensor].name, "fc.bias");
}

TEST(Inference, KeepsInputsParametersAndLoss) {
  Graph before = trained(), after = inference(before);
  EXPECT_EQ(after.parameters, before.parameters);
  EXPECT_EQ(after.inputs, before.inputs);
  ASSERT_TRUE(after.loss.has_value());
  EXPECT_EQ(after[after.loss->loss_sum].name, "loss.loss_sum");
  EXPECT_EQ(parse_graph(to_text(after)), after);
}

}  // namespace
}  // namespace troika
