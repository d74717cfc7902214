// The declared axes, by brute force: an operator computed tile by tile from the declared regions,
// partials combined, equals the whole. Every operator, every axis, 2 and 3 tiles, forward and
// backward, with the reference kernels in f64.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kernels/op_trial.h"
#include "kernels/reference/reference.h"
#include "kernels/tile_parts_test.h"
#include "ops/testing/op_cases.h"

namespace troika {
namespace {

std::vector<Region> tiles_along(const Signature& s, std::size_t axis, std::int64_t degree) {
  std::vector<Region> tiles;
  for (std::int64_t part = 0; part < degree; ++part) {
    tiles.push_back(s.whole_tile());
    tiles.back().ranges[axis] = part_of(s.axes[axis].extent, part, degree);
  }
  return tiles;
}

/// Runs one phase of one tile on the regions of `global` it reads; adds what it writes to
/// `written`.
void run_tile(OpTrial& global, const PhaseSpec& phase, const Region& tile, OpTrial& written) {
  OpTrial local(local_case(global, tile), 1);
  auto region = [&](const Use& use) {
    return region_of(global.signature.slots[static_cast<std::size_t>(use.slot)], tile);
  };
  for (const Use& use : phase.uses) {
    ASSERT_EQ(local.tensor(use).spec.shape, region(use).shape())
        << global.name << " slot " << use.slot << " of a tile " << to_string(tile);
    if (use.access != Access::write) local.tensor(use) = cut(global.tensor(use), region(use));
  }
  local.run(phase.phase, *make_reference_backend());
  for (const Use& use : phase.uses) {
    if (use.access == Access::read) continue;
    put(written.tensor(use), region(use), local.tensor(use),
        global.signature.slots[static_cast<std::size_t>(use.slot)].combine);
  }
}

void run_tiled(OpTrial& global, const PhaseSpec& phase, std::span<const Region> tiles,
               std::size_t axis) {
  OpTrial written = global;
  for (const Use& use : phase.uses) {
    if (use.access == Access::read) continue;
    bool max = global.signature.slots[static_cast<std::size_t>(use.slot)].combine == Combine::max;
    HostTensor& tensor = written.tensor(use);
    for (std::int64_t i = 0; i < tensor.spec.shape.elements(); ++i)
      tensor.set(i, max ? -std::numeric_limits<double>::infinity() : 0);
  }
  bool split = axes_of(global.signature, phase)[axis];
  for (const Region& tile : split ? tiles : std::span(tiles).first(1)) {
    run_tile(global, phase, split ? tile : global.signature.whole_tile(), written);
    if (testing::Test::HasFatalFailure()) return;
  }
  global = written;
}

void check_axis(const OpCase& row, std::size_t axis, std::int64_t degree) {
  OpTrial whole(row, 3), tiled(row, 3);
  auto backend = make_reference_backend();
  std::vector<Region> tiles = tiles_along(whole.signature, axis, degree);
  bool staged = std::ranges::any_of(
      tiles, [&](const Region& tile) { return whole.signature.needs_stages(tile); });
  for (const PhaseSpec& phase : whole.signature.phases) whole.run(phase.phase, *backend);
  const auto& phases = staged ? tiled.signature.staged : tiled.signature.phases;
  ASSERT_FALSE(phases.empty()) << row.name << " has no staged phases";
  for (const PhaseSpec& phase : phases) {
    run_tiled(tiled, phase, tiles, axis);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (const PhaseSpec& phase : whole.signature.phases) {
    for (const Use& use : phase.uses) {
      const Slot& slot = whole.signature.slots[static_cast<std::size_t>(use.slot)];
      if (use.access == Access::read || slot.role == Role::statistic ||
          (staged && slot.role == Role::saved))
        continue;
      EXPECT_LT(distance(tiled.tensor(use), whole.tensor(use)), 1e-11)
          << row.name << " " << to_string(phase.phase) << (use.gradient ? " d" : " ") << slot.name
          << ", axis " << whole.signature.axes[axis].name << " in " << degree;
    }
  }
}

TEST(Tiles, ComputeWhatTheWholeComputes) {
  int checked = 0;
  for (const OpCase& row : op_cases()) {
    Signature s = signature(row.op, row.inputs);
    for (std::size_t axis = 0; axis < s.axes.size(); ++axis) {
      for (std::int64_t degree : {2, 3}) {
        if (s.axes[axis].extent < degree) continue;
        check_axis(row, axis, degree);
        if (HasFatalFailure()) return;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 50);
}

}  // namespace
}  // namespace troika
