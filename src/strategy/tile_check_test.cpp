#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "strategy/split_check.h"
#include "strategy/testing/small_model.h"

namespace troika {
namespace {

TEST(TileCheck, AnOperatorWithoutStagesIsNotCutInsideItsWholeParts) {
  Graph graph = small_model();
  Signature s = signature(graph, graph.operators[0]);
  s.axes[0].whole = 4;
  SplitSubject subject{&graph.operators[0], &s};
  EXPECT_EQ(
      why_split_infeasible(subject, {.factors = {{"n", 4}}, .devices = on({0, 0, 0, 0})},
                           {.devices = 1}),
      "operator 'conv' cannot be split so: it works on 4 indices of 'n' at a time, and a tile "
      "would cut them; what fits: 1, 2 ways along 'n'");
}

TEST(TileCheck, ATileThatSeesPaddingAloneIsNamed) {
  Graph graph = small_model();
  Signature s = signature(graph, graph.operators[0]);
  s.slots[0].dims[2].pad = 4;  // Rows 0 and 1 of the output now lie before the input.
  SplitSubject subject{&graph.operators[0], &s};
  EXPECT_EQ(
      why_split_infeasible(subject, {.factors = {{"h", 6}}, .devices = on({0, 0, 0, 0, 0, 0})},
                           {.devices = 1}),
      "operator 'conv' cannot be split so: its tile [0:8,0:1,0:6,0:4,0:4] would touch nothing of "
      "'x'; what fits: 1, 2 ways along 'h'");
}

TEST(TileCheck, TheFirstTileBehindTheInputIsNamed) {
  Graph graph = small_model();
  Signature s = signature(graph, graph.operators[0]);
  s.slots[0].dims[2].pad = -4;  // Rows 2 to 5 of the output now lie behind the input.
  SplitSubject subject{&graph.operators[0], &s};
  EXPECT_EQ(
      why_split_infeasible(subject, {.factors = {{"h", 6, 0}, {"o", 2, 0}}}, {.devices = 1}),
      "operator 'conv' cannot be split so: its tile [0:8,2:3,0:6,0:2,0:4] would touch nothing "
      "of 'x'; what fits: 1 ways along 'h'");
  // Columns come before rows in the order of the tiles.
  s.slots[0].dims[3].pad = -3;
  EXPECT_EQ(
      why_split_infeasible(subject, {.factors = {{"h", 6, 0}, {"w", 6, 0}}}, {.devices = 1}),
      "operator 'conv' cannot be split so: its tile [0:8,0:1,3:4,0:4,0:4] would touch nothing "
      "of 'x'");
}

/// Every tile, one by one.
bool every_tile_fits(const Operator& op, const Signature& s, const Split& split) {
  for (const Tile& tile : tiles_of(s, split, {})) {
    if (s.needs_stages(tile.box) && s.staged.empty()) return false;
    for (const Slot& slot : s.slots)
      if (region_of(slot, tile.box).empty()) return false;
    try {
      localize(op.op, s, tile.box);
    } catch (const Error&) {
      return false;
    }
  }
  return true;
}

TEST(TileCheck, OnePartOfEachKindStandsForAllTiles) {
  // Windows with padding and strides in both directions, and shards.
  Graph graph = parse_graph(R"(graph kinds
input x f32[12,2,9,9]
parameter conv.weight f32[2,2,3,3] zeros
parameter up.weight f32[2,2,1,1] zeros
parameter bn.gamma f32[2] ones
parameter bn.beta f32[2] zeros
parameter bn.running_mean f32[2] zeros state
parameter bn.running_var f32[2] ones state
operator conv conv2d{out=2,kernel=[3,3],stride=[2,2],pad=[2,2],pad_end=[2,2]} (x) [conv.weight] -> conv
operator bn batch_norm{shards=3} (x) [bn.gamma bn.beta bn.running_mean bn.running_var] -> bn
operator up conv_transpose2d{out=2,kernel=[1,1],stride=[3,3]} (x) [up.weight] -> up
)");
  RandomStream random{.key = 3};
  std::uint64_t drawn = 0;
  auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random.below(drawn++, static_cast<std::uint64_t>(bound)));
  };
  int fitting = 0, wrong = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const Operator& op = graph.operators[static_cast<std::size_t>(trial) % 3];
    Signature s = signature(graph, op);
    // Padding that leaves tiles without input at either end.
    if (trial % 4 == 0) s.slots[0].dims[2].pad = below(12) - 4;
    Split split;
    for (std::int64_t count = 1 + below(3); count > 0; --count) {
      const Axis& axis = s.axes[static_cast<std::size_t>(below(std::ssize(s.axes)))];
      std::int64_t most = axis.extent / degree_along(split, axis.name);
      if (most < 2) continue;
      Factor factor{axis.name, 2 + below(most - 1), 0};
      if (below(4) == 0 && weights_along(split, axis.name).empty())
        for (std::int64_t part = 0; part < factor.degree; ++part)
          factor.weights.push_back(static_cast<double>(1 + below(2)));
      split.factors.push_back(factor);
    }
    auto reason = why_split_infeasible({&op, &s}, split, {.devices = 1});
    if (reason && reason->find("would get nothing") != std::string::npos) continue;
    ASSERT_EQ(!reason, every_tile_fits(op, s, split)) << op.name << ": " << reason.value_or("fits");
    (reason ? wrong : fitting) += 1;
  }
  EXPECT_GT(fitting, 500);
  EXPECT_GT(wrong, 200);
}

}  // namespace
}  // namespace troika
