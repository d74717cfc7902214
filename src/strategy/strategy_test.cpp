#include "strategy/strategy.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/text.h"

namespace troika {
namespace {

const char* kModel = R"(graph tiny
input x f32[6,3]
parameter fc.weight f32[2,3] zeros
operator fc linear{out=2} (x) [fc.weight] -> fc
)";

Machine one_device() { return {{{.name = "cpu0"}}}; }

TEST(Strategy, SingleFitsAnyModel) {
  EXPECT_EQ(why_infeasible(Strategy::single(), parse_graph(kModel), one_device()), std::nullopt);
}

TEST(Strategy, SaysWhichOperatorAndAxisIsWrong) {
  Strategy strategy;
  strategy.splits["fc"] = {{{"h", 2}}, {DeviceId(0u), DeviceId(0u)}};
  EXPECT_EQ(why_infeasible(strategy, parse_graph(kModel), one_device()),
            "operator 'fc' has no axis 'h'; it has n, o, i");
  strategy.splits["fc"] = {{{"o", 3}}, {}};
  EXPECT_EQ(why_infeasible(strategy, parse_graph(kModel), one_device()),
            "operator 'fc' cannot be split 3 ways along 'o', which has 2 indices");
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
  strategy.splits["fc"] = {{{"o", 1}}, {DeviceId(0u)}};
  EXPECT_EQ(parse_strategy(to_json(strategy)), strategy);
  Strategy made = parse_strategy(to_json(strategy, parse_graph(kModel)));
  EXPECT_EQ(made.made_for.value().name, "tiny");
  EXPECT_EQ(parse_strategy(to_json(made)), made);
  EXPECT_NE(made, strategy);
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
