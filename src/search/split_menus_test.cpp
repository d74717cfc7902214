#include "search/split_menus.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "graph/layers_recurrent.h"
#include "search/testing/small_search.h"
#include "strategy/tiles.h"

namespace troika {
namespace {

TEST(DeviceDigits, AreThoseOfNodesAndThenOfDevicesInside) {
  EXPECT_EQ(device_digits(slow_machine(4, 6)),
            (std::vector<DeviceDigit>{{2, 12}, {2, 6}, {2, 3}, {3, 1}}));
  EXPECT_TRUE(device_digits(slow_machine(1, 1)).empty());
}

TEST(DeviceDigits, IgnoreNodesOfUnequalSize) {
  Machine machine = make_machine({.nodes = {{.devices = 4}, {.devices = 2}}});
  EXPECT_EQ(device_digits(machine), (std::vector<DeviceDigit>{{2, 3}, {3, 1}}));
}

TEST(SplitMenus, HaveFeasibleSplitsOnceEach) {
  SmallSearch model(kMixedModel, 2, 2);
  IndexedGraph index(model.graph);
  SplitMenus menus(index, model.machine);
  for (std::size_t op = 0; op < menus.count(); ++op) {
    std::set<std::string> texts;
    EXPECT_EQ(menus.of(op).front(), Split{});
    for (const Split& split : menus.of(op)) {
      EXPECT_TRUE(texts.insert(to_text(split)).second) << to_text(split);
      EXPECT_EQ(normalised(split), split);
      Strategy alone{.splits = {{model.graph.operators[op].name, split}}};
      EXPECT_FALSE(why_infeasible(alone, model.graph, model.machine)) << to_text(split);
      EXPECT_TRUE(menus.find(op, split));
    }
  }
}

TEST(SplitMenus, ListWhatALinearLayerOnTwoDevicesCanDo) {
  SmallSearch model(kMixedModel);
  IndexedGraph index(model.graph);
  SplitMenus menus(index, model.machine);
  std::set<std::string> texts;
  for (const Split& split : menus.of(0)) texts.insert(to_text(split));
  EXPECT_EQ(texts, (std::set<std::string>{"whole from 0", "whole from 1", "n=2/1 from 0",
                                          "o=2/1 from 0", "i=2/1 from 0", "copies=2/1 from 0"}));
}

TEST(SplitMenus, HoldDataParallelismAndMixturesOfTwoLevels) {
  SmallSearch model(kMixedModel, 2, 2);
  IndexedGraph index(model.graph);
  SplitMenus menus(index, model.machine);
  for (const Strategy& ready :
       {data_parallel(model.graph, model.machine), mixed_parallel(model.graph, {2, 2})})
    for (std::size_t op = 0; op < menus.count(); ++op)
      EXPECT_TRUE(menus.find(op, split_of(ready, model.graph.operators[op].name)))
          << model.graph.operators[op].name;
}

TEST(SplitMenus, CountTheirStrategies) {
  SmallSearch model(kMixedModel);
  IndexedGraph index(model.graph);
  SplitMenus menus(index, model.machine);
  std::uint64_t product = 1;
  for (std::size_t op = 0; op < menus.count(); ++op) product *= menus.of(op).size();
  EXPECT_EQ(menus.size(), product);
  EXPECT_NEAR(menus.log10_size(), std::log10(static_cast<double>(product)), 1e-9);
}

TEST(SplitMenus, CutRecurrentLayersOverTimeAndHiddenUnits) {
  GraphBuilder b("stack");
  TensorId x = b.input("x", {{4, 6, 3}, DType::f32});
  TensorId target = b.input("target", {{4, 6}, DType::i32});
  TensorId weight = b.input("weight", {{4, 6}, DType::f32});
  b.loss("loss", CrossEntropy{},
         {layers::recurrent(b, "rnn", x, {.hidden = 4, .layers = 2}).y, target, weight});
  Graph graph = b.finish();
  IndexedGraph index(graph);
  SplitMenus menus(index, slow_machine(1, 2), {.chunks = {2}});
  bool has_chunks = false, has_units = false;
  for (std::size_t op = 0; op < menus.count(); ++op) {
    for (const Split& split : menus.of(op)) {
      has_chunks = has_chunks || split.chunks == 2;
      has_units = has_units || degree_along(split, "u") == 2;
    }
  }
  EXPECT_TRUE(has_chunks);
  EXPECT_TRUE(has_units);
}

TEST(Normalised, IsTheSameForTheSameDevicesOfTheSameTiles) {
  Split two{.factors = {{"n", 2, 4}, {"n", 2, 2}, {"o", 1, 7}, {"o", 2, 1}}};
  EXPECT_EQ(normalised(two), (Split{.factors = {{"n", 4, 2}, {"o", 2, 1}}}));
  Split apart{.factors = {{"n", 2, 4}, {"o", 2, 2}, {"n", 2, 1}}};
  EXPECT_EQ(normalised(apart), apart);
  EXPECT_EQ(normalised(Split{.factors = {{"n", 2, 3}, {"n", 2, 1}}}).factors.size(), 2u);
}

}  // namespace
}  // namespace troika
