// How much slower the devices and links of a run were than predicted, so that a plan can be looked
// for under these conditions.
#pragma once

#include <vector>

#include "collective/recipe.h"
#include "cost/link_costs.h"
#include "machine/machine.h"
#include "taskgraph/loop_pass.h"

namespace troika {

/// Differences below this part are noise: such a device or link counts as predicted.
constexpr double kConditionNoise = 0.1;

/// Multiples of predicted times.
struct MeasuredConditions {
  /// Kernels on the typical device. An error of the prediction, or a busy computer, has the same
  /// effect on all devices, so it is kept apart from `devices`.
  double kernels = 1;
  std::vector<double> devices{};  ///< By device, compared with the typical one.
  double process = 1;             ///< Messages by their slowest link; never less than 1.
  double node = 1;
  double network = 1;

  const double& of(LinkKind kind) const { return of_kind(*this, kind); }
  double& of(LinkKind kind) { return of_kind(*this, kind); }
  bool operator==(const MeasuredConditions&) const = default;
};

/// A pass of one graph as predicted and as measured.
struct ComparedPasses {
  const TaskGraph& graph;
  const LoopPass& predicted;
  const LoopPass& measured;
};

/// For a machine of so many devices; those that the passes do not show count as typical.
///
/// Kernels are compared with the same kind of kernel on the other devices, so a kind that is
/// predicted badly makes no device look slow. Of messages only those count whose members are all
/// shown and for which a device mostly waited, in both: how long the others took is not known.
MeasuredConditions find_conditions(const ComparedPasses& passes, std::size_t devices);

/// Slows devices down as measured.
Machine with_conditions(Machine machine, const MeasuredConditions& conditions);
/// The same for messages.
LinkCosts with_conditions(LinkCosts links, const MeasuredConditions& conditions);

}  // namespace troika
