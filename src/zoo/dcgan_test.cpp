#include "zoo/dcgan.h"

#include <gtest/gtest.h>

#include <map>

namespace troika::zoo {
namespace {

std::map<std::string, Parameter> by_name(const Graph& graph) {
  std::map<std::string, Parameter> all;
  for (const Parameter& parameter : graph.parameters) all[parameter.name] = parameter;
  return all;
}

std::int64_t count(const Graph& graph, std::string_view prefix) {
  std::int64_t elements = 0;
  for (const Parameter& parameter : graph.parameters) {
    if (parameter.name.starts_with(prefix) && !parameter.state)
      elements += parameter.spec.shape.elements();
  }
  return elements;
}

TEST(Dcgan, HasThePublishedCountsAt64Pixels) {
  std::vector<NamedGraph> graphs = make(Dcgan{}, {.batch = 2});
  EXPECT_EQ(count(graphs[0].graph, "generator."), 3'576'704);
  EXPECT_EQ(count(graphs[0].graph, "discriminator."), 2'765'568);
}

TEST(Dcgan, BothStepsAgreeOnTheParametersTheyShare) {
  std::vector<NamedGraph> graphs = make(Dcgan{}, {.batch = 2});
  auto first = by_name(graphs[0].graph), second = by_name(graphs[1].graph);
  for (auto& [name, parameter] : second) {
    ASSERT_TRUE(first.contains(name)) << name;
    parameter.trained = first[name].trained;
    EXPECT_EQ(parameter, first[name]) << name;
  }
}

TEST(Dcgan, EachStepTrainsOneNetwork) {
  std::vector<NamedGraph> graphs = make(Dcgan{}, {.batch = 2});
  for (const NamedGraph& named : graphs) {
    for (const Parameter& parameter : named.graph.parameters)
      EXPECT_EQ(parameter.trained, parameter.name.starts_with(named.name + "."))
          << named.name << " " << parameter.name;
  }
}

TEST(Dcgan, NoTwoOperatorsWriteOneState) {
  for (const NamedGraph& named : make(Dcgan{}, {.batch = 2})) {
    std::map<ParameterId, int> writers;
    for (const Operator& op : named.graph.operators) {
      for (ParameterId parameter : op.parameters)
        writers[parameter] += named.graph[parameter].state;
    }
    for (const auto& [parameter, number] : writers)
      EXPECT_LE(number, 1) << named.graph[parameter].name;
  }
}

TEST(Dcgan, MakesImagesOfTheDatasSize) {
  for (Shape size : {Shape{1, 28, 28}, Shape{3, 32, 32}, Shape{1, 12, 20}}) {
    Samples samples{.batch = 2, .fields = {{"input", {size, DType::f32}}}};
    const Graph graph = make(Dcgan{.width = 4, .noise = 3}, samples)[1].graph;
    EXPECT_EQ(graph[graph.outputs[0].tensor].spec.shape, (Shape{2, size[0], size[1], size[2]}));
  }
}

}  // namespace
}  // namespace troika::zoo
