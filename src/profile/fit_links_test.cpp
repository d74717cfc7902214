#include "profile/fit_links.h"

#include <gtest/gtest.h>

#include "collective/algorithms.h"
#include "cost/formulas.h"
#include "cost/predict_time.h"

namespace troika {
namespace {

constexpr Bytes kElement{4};

CollectiveCall call_on(LinkKind link, Collective kind, Bytes bytes) {
  CollectiveCall call = equal_parts(kind, 2, bytes.count / kElement.count);
  if (link == LinkKind::node) call.processes = {0, 1};
  return call;
}

/// What two members would measure on links of these costs.
std::vector<MeasuredAlgorithm> rows_of(const LinkCosts& costs, LinkKind link) {
  std::vector<MeasuredAlgorithm> rows;
  for (const Algorithm& algorithm : algorithms()) {
    MeasuredAlgorithm row{.kind = algorithm.kind,
                          .algorithm = std::string(algorithm.name),
                          .members = 2,
                          .link = link};
    bool is_barrier = algorithm.kind == Collective::barrier;
    if (algorithm.why_not(call_on(link, algorithm.kind, {64}))) continue;
    for (std::int64_t bytes = 64; bytes <= (is_barrier ? 64 : 1 << 24); bytes *= 2) {
      CollectiveCall call = call_on(link, algorithm.kind, {is_barrier ? 0 : bytes});
      SimTime time = formula_time(call, algorithm.name, kElement, costs);
      row.times.points.push_back({kElement * call.count, static_cast<double>(time.count)});
    }
    rows.push_back(row);
  }
  return rows;
}

LinkCosts known_costs() {
  LinkCosts costs = assumed_link_costs();
  costs.process = {.alpha = 200, .beta = 0.25, .gamma = 0.5};
  costs.node = {.alpha = 900, .beta = 0.75, .gamma = 0.125};
  costs.memory = {.copy = 0.375, .reduce = 0.625, .reduce_both = 0.875};
  return costs;
}

TEST(FitLinks, FindsTheCostsUnderTheTimes) {
  LinkCosts fitted = assumed_link_costs(), known = known_costs();
  take_measured(fitted, rows_of(known, LinkKind::process));
  EXPECT_NEAR(fitted.process.alpha, 200, 1);
  EXPECT_NEAR(fitted.process.beta, 0.25, 0.001);
  EXPECT_NEAR(fitted.process.gamma, 0.5, 0.001);
  EXPECT_NEAR(fitted.memory.copy, 0.375, 0.001);
  EXPECT_NEAR(fitted.memory.reduce, 0.625, 0.001);
  EXPECT_NEAR(fitted.memory.reduce_both, 0.875, 0.001);
  EXPECT_EQ(fitted.node, assumed_link_costs().node);
}

TEST(FitLinks, GivesEachKindOfLinkItsOwn) {
  LinkCosts fitted = assumed_link_costs(), known = known_costs();
  take_measured(fitted, rows_of(known, LinkKind::node));
  EXPECT_NEAR(fitted.node.alpha, 900, 2);
  EXPECT_NEAR(fitted.node.beta, 0.75, 0.001);
  EXPECT_NEAR(fitted.node.gamma, 0.125, 0.001);
  EXPECT_EQ(fitted.process, assumed_link_costs().process);
  EXPECT_EQ(fitted.memory, assumed_link_costs().memory);
}

TEST(FitLinks, MakesTheFormulasOfTwoMembersEqualToTheMeasuredTimes) {
  LinkCosts fitted = assumed_link_costs();
  take_measured(fitted, rows_of(known_costs(), LinkKind::process));
  for (const char* algorithm : {"direct", "recursive_doubling", "rabenseifner", "ring", "tree"}) {
    for (std::int64_t bytes : {64, 4096, 100'000, 1 << 22}) {
      CollectiveCall call = call_on(LinkKind::process, Collective::all_reduce, {bytes});
      auto formula = static_cast<double>(formula_time(call, algorithm, kElement, fitted).count);
      auto measured =
          static_cast<double>(predict_time(call, algorithm, kElement, fitted).time.count);
      EXPECT_NEAR(formula, measured, 2 + 0.001 * measured) << algorithm << " of " << bytes;
    }
  }
}

TEST(FitLinks, ReplacesOlderRowsOfTheSameMembersAndLink) {
  LinkCosts costs = assumed_link_costs();
  auto row = [](int members, LinkKind link, double time) {
    return MeasuredAlgorithm{
        .algorithm = "ring", .members = members, .link = link, .times = {{{{8}, time}}}};
  };
  take_measured(costs, {row(2, LinkKind::process, 1)});
  take_measured(costs, {row(4, LinkKind::process, 2)});
  take_measured(costs, {row(2, LinkKind::node, 3)});
  take_measured(costs, {row(2, LinkKind::process, 4)});
  ASSERT_EQ(costs.measured.size(), 3u);
  EXPECT_EQ(costs.measured.back(), row(2, LinkKind::process, 4));
}

TEST(FitLinks, AFasterWholeThanItsPartsIsNoNegativeCost) {
  LinkCosts costs = assumed_link_costs();
  auto row = [](Collective kind, const char* algorithm, double time) {
    return MeasuredAlgorithm{.kind = kind,
                             .algorithm = algorithm,
                             .members = 2,
                             .times = {{{{8192}, time}, {{16384}, time}}}};
  };
  take_measured(costs, {row(Collective::all_gather, "recursive_doubling", 1000),
                        row(Collective::reduce_scatter, "pairwise", 900)});
  EXPECT_EQ(costs.process.gamma, 0);
  EXPECT_EQ(combine_time(costs.process, {4096}).count, 0);
  EXPECT_EQ(parse_link_costs(to_json(costs)), costs);
}

TEST(FitLine, IsNearInProportionNotInNanoseconds) {
  // One long vector out of all caches does not spoil alpha.
  SizeCurve curve;
  for (std::int64_t bytes = 8; bytes <= 1 << 20; bytes *= 8)
    curve.points.push_back({{bytes}, 100 + 0.08 * static_cast<double>(bytes)});
  curve.points.push_back({{1 << 26}, 0.24 * (1 << 26)});
  Line line = fit_line(curve);
  EXPECT_NEAR(line.alpha, 100, 5);
  EXPECT_NEAR(line.beta, 0.09, 0.02);
  EXPECT_EQ(fit_line({}).alpha, 0);
  EXPECT_EQ(fit_line({{{{8}, 40}}}).alpha, 40);
  EXPECT_GE(fit_line({{{{8}, 40}, {{1024}, 10}}}).beta, 0);
}

}  // namespace
}  // namespace troika
