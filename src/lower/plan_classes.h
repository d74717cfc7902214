// Which devices of a plan do the same, so that one of them stands for all (docs/design.md,
// Folding).
#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "lower/classes.h"
#include "lower/program_plan.h"

namespace troika {

/// Facts about tiles and redistributions, kept because most plans of one search share them. Borrows
/// the machine.
class AspectTable {
 public:
  explicit AspectTable(const Machine& machine) : machine_(machine) {}

  /// Which kinds of tiles each device has.
  const Aspect& of_tiles(const TileTables& tables, TileSetId set, KindsId kinds);
  /// What each device does for a redistribution. Positions of boxes in their inputs are left out:
  /// they are launch arguments.
  const Aspect& of_moves(const Moves& moves);

 private:
  const Machine& machine_;
  std::map<std::pair<TileSetId, KindsId>, std::unique_ptr<const Aspect>> tiles_;
  std::unordered_map<const Moves*, std::unique_ptr<const Aspect>> moves_;
};

/// Devices of a class emit the same tasks, one by one, but for positions, offsets and which device
/// of a class their partners are.
Classes find_classes(const ProgramPlan& plan, AspectTable& known);

}  // namespace troika
