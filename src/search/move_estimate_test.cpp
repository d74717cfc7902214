#include "search/move_estimate.h"

#include <gtest/gtest.h>

#include "search/testing/small_search.h"

namespace troika {
namespace {

// Links of 1 ns per byte inside a node and of 10 ns between nodes, without latency.
LinkCosts costs() {
  LinkCosts made;
  made.process = {.beta = 1};
  made.node = {.beta = 1};
  made.network = {.beta = 10};
  return made;
}

/// The first layer of kMixedModel: y[16,512] of x[16,64] on two nodes of two devices.
struct Layer {
  Layer() : graph(parse_graph(kMixedModel)), index(graph), machine(slow_machine(2, 2)) {}

  int slot(Role role) const { return index.signatures[0].slots_of(role).front(); }
  MoveEstimates::HoldingId output(const Split& split, bool is_partial = true) {
    return moves.holding_of(0, slot(Role::output), split, is_partial);
  }

  Graph graph;
  IndexedGraph index;
  Machine machine;
  LinkCosts links = costs();
  MoveEstimates moves{index, machine, links};
};

const Split kSamples{.factors = {{"n", 4, 1}}}, kColumns{.factors = {{"o", 4, 1}}},
    kCopies{.factors = {{"", 4, 1}}};
constexpr double kBytes = 16 * 512 * 4;

TEST(MoveEstimates, CountNothingForWhatIsThere) {
  Layer layer;
  EXPECT_EQ(layer.moves.move_time(layer.output(kSamples), layer.output(kSamples, false), {4}), 0);
  EXPECT_EQ(layer.moves.move_time(layer.output(kCopies), layer.output(kColumns, false), {4}), 0);
}

TEST(MoveEstimates, CountWhatANodeLacksOverItsCardAndTheRestInside) {
  Layer layer;
  // Each device needs a quarter of the columns: it has a 16th of all, its neighbour another one,
  // and two 16ths come from the other node, for both devices of the node over one card.
  double expected = kBytes / 16 * 1 + 2 * (kBytes / 8) * 10;
  EXPECT_NEAR(layer.moves.move_time(layer.output(kSamples), layer.output(kColumns, false), {4}),
              expected, 1);
}

TEST(MoveEstimates, CountEachTermOfAPartialSum) {
  Layer layer;
  Split reduced{.factors = {{"i", 2, 1}}};
  double there = layer.moves.move_time(layer.output(reduced), layer.output({}, false), {4});
  // Two terms inside a node for device 0: its own, and its neighbour's.
  EXPECT_NEAR(there, kBytes, 1);
}

TEST(MoveEstimates, AddUpGradientsOfCopies) {
  Layer layer;
  auto held = [&](const Split& split) {
    return layer.moves.holding_of(0, layer.slot(Role::weight), split, false);
  };
  double weights = 512 * 64 * 4;
  // Half of twice the vector inside each node, and the same between the two nodes.
  EXPECT_NEAR(layer.moves.sum_time(held(kSamples), {4}), weights * 1 + weights * 10, 1);
  EXPECT_EQ(layer.moves.sum_time(held(kColumns), {4}), 0);
}

}  // namespace
}  // namespace troika
