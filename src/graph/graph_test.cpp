#include "graph/graph.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/hash.h"
#include "graph/builder.h"
#include "graph/text.h"

namespace troika {
namespace {

Graph small() {
  GraphBuilder b("small");
  TensorId x = b.input("x", {{4, 3}, DType::f32});
  TensorId target = b.input("target", {{4}, DType::i32});
  TensorId weight = b.input("weight", {{4}, DType::f32});
  TensorId h = b.add("fc1", Linear{.out = 5}, {x});
  h = b.add("fc1.bias", Bias{}, {h}, {.prefix = "fc1"});
  h = b.add("relu", Activation{}, {h});
  h = b.add("fc2", Linear{.out = 2}, {h}, {.init = {Init{Init::Kind::normal, 0.02}}});
  b.output("logits", h);
  b.loss("loss", CrossEntropy{}, {h, target, weight});
  return b.finish();
}

TEST(GraphBuilder, NamesParametersAfterTheirOperator) {
  Graph graph = small();
  ASSERT_EQ(graph.parameters.size(), 3u);
  EXPECT_EQ(graph.parameters[0].name, "fc1.weight");
  EXPECT_EQ(graph.parameters[1].name, "fc1.bias");
  EXPECT_EQ(graph.parameters[2].init, (Init{Init::Kind::normal, 0.02}));
  EXPECT_EQ(parameter_count(graph), 5 * 3 + 5 + 2 * 5);
}

TEST(GraphText, ReadsBackToTheSameGraph) {
  Graph graph = small();
  EXPECT_EQ(parse_graph(to_text(graph)), graph) << to_text(graph);
  EXPECT_EQ(model_hash(parse_graph(to_text(graph))), model_hash(graph));
}

TEST(ModelHash, IsThatOfTheModelNotOfTheRun) {
  Graph graph = small(), run = small(), other = small();
  std::string text = to_text(run);
  for (std::size_t at; (at = text.find("[4")) != std::string::npos;) text.replace(at, 2, "[8");
  run = parse_graph(text);
  run.parameters[0].trained = false;
  EXPECT_EQ(model_hash(run), model_hash(graph));
  std::get<Activation>(other.operators[2].op).kind = ActivationKind::tanh;
  EXPECT_NE(model_hash(other), model_hash(graph));
  EXPECT_NE(model_hash(parse_graph("graph small\ninput x f32[4,3]\n")),
            model_hash(parse_graph("graph small\ninput x f32[4,5]\n")));
}

TEST(ModelHash, OfRecurrentLayersIsThatOfTheShapesInFiles) {
  std::string rest = "operator r recurrent{hidden=6} (x) [r.w_ih r.w_hh r.bias] -> y h c\n";
  Graph graph = parse_graph(
      "graph net\ninput x f32[2,5,3]\nparameter r.w_ih f32[4,6,3] uniform 0.5\n"
      "parameter r.w_hh f32[4,6,6] uniform 0.5\nparameter r.bias f32[4,6] uniform 0.5\n" +
      rest);
  EXPECT_EQ(model_hash(graph),
            hash_text("graph net\ninput x f32[1,5,3]\nparameter r.w_ih f32[24,3] uniform 0.5\n"
                      "parameter r.w_hh f32[24,6] uniform 0.5\n"
                      "parameter r.bias f32[24] uniform 0.5\n" +
                      rest));
}

TEST(GraphText, NamesTheLineThatIsWrong) {
  std::string text = to_text(small());
  text.replace(text.find("(x)"), 3, "(z)");
  try {
    parse_graph(text);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("line 8: no tensor is called 'z'"), std::string::npos)
        << error.what();
  }
}

TEST(GraphText, SurvivesAnyTruncation) {
  std::string text = to_text(small());
  for (std::size_t length = 0; length < text.size(); ++length) {
    try {
      parse_graph(text.substr(0, length));
    } catch (const Error&) {
    }
  }
}

TEST(GraphVerify, RefusesAParameterOfTheWrongShape) {
  Graph graph = small();
  graph.parameters[0].spec.shape = {5, 4};
  EXPECT_THROW(verify(graph), Error);
}

TEST(GraphVerify, RefusesReadingBeforeWriting) {
  Graph graph = small();
  std::swap(graph.operators[0], graph.operators[1]);
  EXPECT_THROW(verify(graph), Error);
}

TEST(GraphVerify, RefusesTwoOperatorsOfOneName) {
  Graph graph = small();
  graph.operators[2].name = "fc1";
  EXPECT_THROW(verify(graph), Error);
}

TEST(GraphBuilder, SharesWeights) {
  GraphBuilder b("tied");
  TensorId x = b.input("x", {{4, 3}, DType::f32});
  TensorId h = b.add("one", Linear{.out = 3}, {x});
  b.add("two", Linear{.out = 3}, {h}, {.shared = {b.parameter("one.weight")}});
  EXPECT_EQ(b.finish().parameters.size(), 1u);
}

}  // namespace
}  // namespace troika
