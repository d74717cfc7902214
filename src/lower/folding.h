// The folded task graph of a plan, kept up to date as the plan changes (docs/design.md, Folding).
#pragma once

#include <map>
#include <set>

#include "lower/device_emitter.h"
#include "lower/folded_calls.h"
#include "lower/plan_classes.h"

namespace troika {

/// Emits the tasks of the first device of each class. Borrows plan and table.
class Folding {
 public:
  /// `given`: takes this partition as it is instead of finding one. For tests of the checks.
  Folding(const ProgramPlan& plan, const KernelTable& table, std::optional<Classes> given = {});

  /// Folds the plan as it is now.
  void fold();
  /// The same where only what is touched differs from the plan that was folded last.
  void fold_again(Touched touched);

  const FoldedGraph& graph() const { return graph_; }
  /// Rows of sums, copies and reorders that the table lacks. The graph is complete without any.
  const std::vector<KernelRequest>& missing() const { return missing_; }
  /// The fragments of a class's first device, in the order of `emit_all`.
  std::span<const Fragment> fragments_of(std::int32_t a_class) const;
  /// Version numbers, never used twice. A fragment gets another one whenever it is emitted again;
  /// `all` changes when a fragment that has or had tasks is emitted again, and where buffers may
  /// have changed that the host writes or reads.
  struct Versions {
    std::vector<std::uint64_t> fragments;
    std::uint64_t all = 0;
  };
  const Versions& versions_of(std::int32_t a_class) const;
  const ProgramPlan& plan() const { return plan_; }
  /// Grows as tasks are emitted.
  MovementTable& movements() { return movements_; }
  /// Why a device does not do the same as the first one of its class, whose tasks stand for its
  /// own, by its fragments. Nothing if it does.
  [[nodiscard]] std::optional<std::string> why_not_alike(std::int32_t device,
                                                         std::span<const Fragment> fragments);

 private:
  struct FoldedDevice {
    std::vector<Fragment> fragments;
    std::vector<FoldedTask> tasks;  // in their order; the graph has them between changes
    Bytes inputs{};                 // that the host copies to it in each pass
    Versions versions;
  };

  /// Returns whether sums over all devices change.
  bool set_classes(Touched& touched);
  void set_runtime_costs();
  // folding_check.cpp
  /// A task where it stands.
  struct StandingTask {
    const Fragment& fragment;
    const PlannedTask& task;
    std::int32_t device;
  };
  bool is_alike(const StandingTask& one, const StandingTask& other);
  bool is_alike(const BufferRef& one, const BufferRef& other) const;
  FoldedDevice emit_device(std::int32_t device);
  struct Again {
    const Touched& touched;
    bool step = false;  ///< The sums over all devices.
  };
  void emit_again(std::int32_t device, FoldedDevice& known, const Again& again);
  bool concerns_step(const Touched& touched) const;
  void add_folded(const Fragment& fragment, std::int32_t device, std::vector<FoldedTask>& tasks);
  SimTime time_of(const PlannedTask& task, std::int32_t device);
  /// The bytes of the buffer that a finish gets back.
  Bytes bytes_of(const PlannedTask& finish, const Fragment& fragment, std::int32_t device) const;
  SimTime movement_time(std::int32_t movement, std::int32_t device);
  std::size_t first_value() const { return plan_.distribution.outline.jobs.size(); }
  std::size_t first_update() const { return first_value() + plan_.distribution.values.size(); }
  std::size_t step_fragment() const { return first_update() + plan_.updates.size(); }

  const ProgramPlan& plan_;
  const KernelTable& table_;
  const std::optional<Classes> given_;
  const LinkCosts links_;
  const Network network_;
  const std::vector<DirectedLink> all_links_;
  const std::vector<std::vector<DeviceId>> processes_;  // by rank
  AspectTable aspects_;
  MovementTable movements_;
  std::vector<std::optional<SimTime>> movement_times_;  // by movement
  FoldedCalls calls_;
  std::map<std::int32_t, FoldedDevice> devices_;  // the first of each class
  FoldedGraph graph_;
  std::vector<KernelRequest> missing_;
  std::set<std::int32_t> missing_movements_;
  std::uint64_t version_ = 0;  // the last one given
};

}  // namespace troika
