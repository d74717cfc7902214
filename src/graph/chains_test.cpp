#include "graph/chains.h"

#include <gtest/gtest.h>

#include "graph/text.h"

namespace troika {
namespace {

/// "conv bias relu | bn add"
std::string chains_of(const std::string& text) {
  Graph graph = parse_graph("graph test\n" + text);
  std::string names;
  for (const Chain& chain : fusable_chains(graph)) {
    if (!names.empty()) names += " | ";
    for (OperatorId id : chain.operators)
      names += (id == chain.operators.front() ? "" : " ") + graph[id].name;
  }
  return names;
}

constexpr const char* kLinear = R"(
  input x f32[4,3]
  parameter fc.weight f32[5,3] uniform 0.1
  parameter fc.bias f32[5] zeros
  operator fc linear{out=5} (x) [fc.weight] -> fc
)";

TEST(FusableChains, TakeBiasAndActivationBehindALinear) {
  EXPECT_EQ(chains_of(std::string(kLinear) + R"(
    operator fc.bias bias{} (fc) [fc.bias] -> fc.bias
    operator relu activation{} (fc.bias) [] -> relu
    operator relu2 activation{} (relu) [] -> relu2
    output y relu2)"),
            "fc fc.bias relu");
}

TEST(FusableChains, StopAtATensorThatTwoRead) {
  EXPECT_EQ(chains_of(std::string(kLinear) + R"(
    operator fc.bias bias{} (fc) [fc.bias] -> fc.bias
    operator relu activation{} (fc.bias) [] -> relu
    operator tanh activation{kind=tanh} (fc.bias) [] -> tanh)"),
            "fc fc.bias");
}

TEST(FusableChains, StopAtATensorThatOneReadsTwice) {
  EXPECT_EQ(chains_of(std::string(kLinear) + "operator twice binary{} (fc fc) [] -> twice"), "");
}

TEST(FusableChains, StopAtAnOutputOfTheGraph) {
  EXPECT_EQ(chains_of(std::string(kLinear) + R"(
    operator relu activation{} (fc) [] -> relu
    output y fc)"),
            "");
}

TEST(FusableChains, DoNotTakeAnAdditionThatStretchesTheTensor) {
  EXPECT_EQ(chains_of(std::string(kLinear) + R"(
    input wide f32[2,4,5]
    operator sum binary{} (fc wide) [] -> sum)"),
            "");
}

TEST(FusableChains, DoNotTakeAMultiplication) {
  EXPECT_EQ(chains_of(std::string(kLinear) + R"(
    input y f32[4,5]
    operator product binary{kind=multiply} (fc y) [] -> product)"),
            "");
}

constexpr const char* kResidual = R"(
  input x f32[2,4,6,6]
  parameter a.weight f32[4,4,1,1] uniform 0.1
  parameter b.weight f32[4,4,1,1] uniform 0.1
  parameter norm.gamma f32[4] ones
  parameter norm.beta f32[4] zeros
  parameter norm.running_mean f32[4] zeros state
  parameter norm.running_var f32[4] ones state
  operator a conv2d{out=4} (x) [a.weight] -> a
  operator norm batch_norm{} (a) [norm.gamma norm.beta norm.running_mean norm.running_var] -> norm
  operator b conv2d{out=4} (x) [b.weight] -> b
)";

TEST(FusableChains, EndABlockWithItsAdditionAndRelu) {
  EXPECT_EQ(chains_of(std::string(kResidual) + R"(
    operator add binary{} (norm x) [] -> add
    operator relu activation{} (add) [] -> relu
    output y relu)"),
            "norm add relu");
}

TEST(FusableChains, GiveAnAdditionToTheOperandThatIsWrittenLast) {
  EXPECT_EQ(chains_of(std::string(kResidual) + R"(
    operator add binary{} (norm b) [] -> add
    operator relu activation{} (add) [] -> relu
    output y relu)"),
            "b add relu");
}

}  // namespace
}  // namespace troika
