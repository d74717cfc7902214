#include <gtest/gtest.h>

#include "strategy/testing/small_model.h"

namespace troika {
namespace {

TEST(FeasibleViews, ViewsFit) {
  EXPECT_EQ(answer("conv", {}), "fits");
  EXPECT_EQ(answer("conv", {.first = 3}), "fits");
  EXPECT_EQ(answer("conv", {.factors = dense({{"n", 2}, {"o", 2}})}), "fits");
  EXPECT_EQ(answer("conv", {.factors = {{"n", 8, 0}}, .first = 2}), "fits");
  EXPECT_EQ(answer("conv", {.factors = {{"n", 2, 2}, {"n", 4, 0}, {"", 2}}}), "fits");
}

TEST(FeasibleViews, NamesTheFirstTileOfAViewThatIsOutside) {
  EXPECT_EQ(answer("conv", {.factors = {{"n", 2, 1}, {"o", 3, 2}}}),
            "operator 'conv' is placed on device 4, but the run has 4 devices, counted from 0");
  EXPECT_EQ(answer("conv", {.first = 4}),
            "operator 'conv' is placed on device 4, but the run has 4 devices, counted from 0");
  EXPECT_EQ(answer("conv", {.first = -1}),
            "operator 'conv' is placed on device -1, but the run has 4 devices, counted from 0");
  EXPECT_EQ(answer("conv", {.factors = {{"n", 2, std::int64_t{1} << 62}}}),
            "operator 'conv' is placed on device 4611686018427387904, but the run has 4 devices, "
            "counted from 0");
  EXPECT_EQ(answer("conv", {.factors = {{"n", 2, -1}}}),
            "operator 'conv' has the stride -1; strides are 0 or more");
}

TEST(FeasibleViews, ReplicasOfAViewHaveDevicesOfTheirOwn) {
  EXPECT_EQ(answer("conv", {.factors = {{"n", 2}, {"", 2, 0}}}),
            "operator 'conv' has two replicas of tile 0 on device 0; each needs a device of its "
            "own");
  EXPECT_EQ(answer("conv", {.factors = {{"", 2, 1}, {"", 2, 1}}, .first = 1}),
            "operator 'conv' has two replicas of tile 0 on device 2; each needs a device of its "
            "own");
  EXPECT_EQ(answer("conv", {.factors = {{"", 2, 1}, {"", 2, 2}}}), "fits");
  // No stride reaches beyond the other factor, and still no two sums are equal.
  auto on_many = [](const Split& split) {
    Strategy strategy{.splits = {{"conv", split}}};
    return why_infeasible(strategy, small_model(), machine_of(16)).value_or("fits");
  };
  EXPECT_EQ(on_many({.factors = {{"", 3, 2}, {"", 2, 3}}}), "fits");
  EXPECT_EQ(on_many({.factors = {{"", 4, 2}, {"", 3, 3}}}),
            "operator 'conv' has two replicas of tile 0 on device 6; each needs a device of its "
            "own");
}

TEST(FeasibleViews, AListTakesNoStrides) {
  const std::string both =
      "operator 'conv' lists its devices, so that a first device and strides have no effect; leave "
      "out either them or the list";
  EXPECT_EQ(answer("conv", {.factors = {{"n", 2, 2}}, .devices = on({0, 1})}), both);
  EXPECT_EQ(answer("conv", {.first = 1, .devices = on({0})}), both);
}

TEST(FeasibleViews, FactorsOfAnAxisMultiply) {
  EXPECT_EQ(answer("conv", {.factors = {{"o", 2, 0}, {"o", 3, 0}}}),
            "operator 'conv' cannot be split 6 ways along 'o', which has 4 indices; 1 to 4 ways "
            "fit");
  EXPECT_EQ(answer("conv", {.factors = {{"o", -2}, {"o", -2}}}),
            "operator 'conv' cannot be split -2 ways along 'o', which has 4 indices; 1 to 4 ways "
            "fit");
}

TEST(FeasibleViews, WeightsBelongToOneFactorOfAnAxis) {
  Factor outer{.axis = "n", .degree = 2, .stride = 0, .weights = {1, 3}};
  Factor inner{.axis = "n", .degree = 2, .stride = 0, .weights = {1, 9}};
  EXPECT_EQ(answer("conv", {.factors = {outer, {"n", 2, 0}}}), "fits");
  EXPECT_EQ(answer("conv", {.factors = {outer, inner}}),
            "operator 'conv' has weights in two factors of 'n'; leave one without");
  EXPECT_EQ(answer("conv", {.factors = {{"n", 2}, inner}}),
            "operator 'conv' would get nothing in part 0 along 'n', because its weight is 1 and "
            "there are 8 indices; make the weights more alike, or split fewer ways");
  EXPECT_EQ(answer("conv", {.factors = {{.axis = "", .degree = 2, .weights = {1, 3}}}}),
            "operator 'conv' has weights for its replicas; only the parts of an axis have weights");
}

TEST(FeasibleViews, TilesAreLimited) {
  Graph graph = parse_graph(R"(graph large
input x f32[2048,2048]
operator relu activation{} (x) [] -> relu
)");
  Strategy strategy{.splits = {{"relu", {.factors = {{"n", 2048, 0}, {"t", 1024, 0}}}}}};
  EXPECT_EQ(why_infeasible(strategy, graph, machine_of(2)),
            "operator 'relu' has 2097152 tiles in 1 replicas; 1048576 in all is the limit");
}

}  // namespace
}  // namespace troika
