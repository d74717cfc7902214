// One plan that is changed again and again, with its predicted step and memory.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lower/live_bytes.h"
#include "lower/planner.h"
#include "search/scoring_kernels.h"
#include "sim/delta_simulation.h"

namespace troika {

/// A device of a plan that needs more memory than it has.
struct MemoryLack {
  DeviceId device;
  Bytes needed{}, available{};
};

/// After all but `done` the plan is as it was.
enum class TriedChange { infeasible, too_long, done };

/// Stays where it is made; used by one thread. Borrows the kernels and what the request borrows.
class SearchedPlan {
 public:
  SearchedPlan(const LowerRequest& request, const ScoringKernels& kernels);
  SearchedPlan(const SearchedPlan&) = delete;
  SearchedPlan& operator=(const SearchedPlan&) = delete;

  /// Plans and simulates the strategy of the request. Returns why that is impossible. Nothing else
  /// may be called before it has succeeded.
  [[nodiscard]] std::optional<std::string> start();
  /// Gives operators other splits, and returns the period of the changed plan. Nothing, and the
  /// plan is as it was: the change is infeasible.
  [[nodiscard]] std::optional<SimTime> change(std::span<const SplitChange> changes);
  /// The same for a search that has no use for a longer period than this: where its kernels alone
  /// take longer, nothing is simulated and the plan is as it was.
  [[nodiscard]] TriedChange try_change(std::span<const SplitChange> changes, SimTime longest);
  /// The changes that lead to another strategy, and its period; as `change`.
  [[nodiscard]] std::optional<SimTime> change_to(const Strategy& other);
  /// Takes the last change back, which must have been the last call but for `find_lack`.
  void undo();

  SimTime period() const { return delta_.period().time; }
  const Strategy& strategy() const { return planner_.strategy(); }
  Planner& planner() { return planner_; }
  const DeltaSimulation& simulation() const { return delta_; }
  const KernelTable& table() const { return table_; }
  /// The device that lacks the most memory; nothing if all fit. Packing may leave gaps that are not
  /// counted. Devices of unknown memory always fit.
  std::optional<MemoryLack> find_lack();

 private:
  bool changes_cuts(std::span<const SplitChange> changes) const;

  const LowerRequest& request_;
  KernelTable table_;
  Planner planner_;
  DeltaSimulation delta_;
  std::optional<LiveBytes> memory_;
  bool undo_changes_cuts_ = false;
};

/// The operators whose splits differ, with those of `to`.
std::vector<SplitChange> difference(const Graph& graph, const Strategy& from, const Strategy& to);

}  // namespace troika
