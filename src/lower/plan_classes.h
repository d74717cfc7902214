// Which devices of a plan do the same, so that one of them stands for all (docs/design.md,
// Folding).
#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "cost/network.h"
#include "lower/classes.h"
#include "lower/colour.h"
#include "lower/program_plan.h"

namespace troika {

/// An aspect in two halves. Equal patterns tell the same devices apart, whatever their numbers and
/// shapes are, so one half of each pattern is enough to find classes.
struct KnownAspect {
  Aspect alone;                                          ///< Without communications,
  Aspect together;                                       ///< and nothing but these.
  std::int32_t alone_pattern = 0, together_pattern = 0;  ///< 0: tells no devices apart.
};

/// Facts about tiles and redistributions, kept because most plans of one search share them. Borrows
/// the network.
class AspectTable {
 public:
  explicit AspectTable(const Network& network) : network_(network) {}

  const Network& network() const { return network_; }

  /// Which kinds of tiles each device has.
  const KnownAspect& of_tiles(const TileTables& tables, TileSetId set, KindsId kinds);
  /// What each device does for a redistribution. Positions of boxes in their inputs are left out:
  /// they are launch arguments.
  const KnownAspect& of_moves(const Moves& moves);
  /// Greater than all patterns.
  std::size_t pattern_count() const { return patterns_.size() + 1; }

 private:
  KnownAspect known(Aspect aspect);
  std::int32_t number_of(Colour pattern);

  const Network& network_;
  std::map<std::pair<TileSetId, KindsId>, std::unique_ptr<const KnownAspect>> tiles_;
  std::unordered_map<const Moves*, std::unique_ptr<const KnownAspect>> moves_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::int32_t> patterns_;
};

/// Devices of a class emit the same tasks, one by one, but for positions, offsets and which device
/// of a class their partners are.
Partition find_partition(const ProgramPlan& plan, AspectTable& known);

}  // namespace troika
