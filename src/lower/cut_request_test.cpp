#include "lower/cut_request.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/layers_recurrent.h"
#include "lower/distribution.h"

namespace troika {
namespace {

TEST(CutRequest, HasTheGraphThatCanBeDistributed) {
  GraphBuilder b("net");
  b.output("y",
           layers::recurrent(b, "rnn", b.input("x", {{4, 8, 6}, DType::f32}), {.hidden = 6}).y);
  Graph graph = b.finish();
  Machine machine{std::vector<DeviceSpec>(2)};
  Strategy strategy{.splits = {{"rnn.0", {.chunks = 2, .chunk_stride = 1}}}};
  LowerRequest model{.graph = &graph, .strategy = &strategy, .machine = &machine, .outputs = {"y"}};
  PlanTables of_model(graph, machine);
  // Uncut, both chunks would be on the first device.
  EXPECT_THROW(distribute(model, of_model), Bug);
  CutRequest cut(model);
  PlanTables tables(*cut.request.graph, machine);
  EXPECT_EQ(distribute(cut.request, tables).operators.size(), cut.request.graph->operators.size());
}

TEST(CutRequest, IsTheRequestOfTheModelIfNothingIsCut) {
  GraphBuilder b("net");
  b.output("y",
           layers::recurrent(b, "rnn", b.input("x", {{4, 8, 6}, DType::f32}), {.hidden = 6}).y);
  Graph graph = b.finish();
  Machine machine{std::vector<DeviceSpec>(1)};
  Strategy strategy;
  CutRequest cut({.graph = &graph, .strategy = &strategy, .machine = &machine});
  EXPECT_EQ(cut.request.graph, &graph);
  EXPECT_EQ(cut.request.strategy, &strategy);
}

}  // namespace
}  // namespace troika
