// Plans of one program under changing splits, as a search tries them: made from scratch once, then
// changed, where only what depends on a change is decided again.
#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "lower/change.h"
#include "lower/cut_request.h"
#include "lower/folding.h"
#include "lower/lower.h"

namespace troika {

/// Another split for an operator, which is named by its place in the graph.
struct SplitChange {
  std::int32_t op = -1;
  Split split;
};

/// Why there is no plan.
using PlanRefusal = std::variant<Infeasible, MissingRows>;

/// Copies the strategy; borrows everything else of the request, and the table of kernels. Not
/// movable. A table with more rows may lead to other choices, so call `plan` again after it has got
/// some. Keeps what it has computed about each split and each pair of splits, so its memory
/// grows with the number of different splits tried; a new Planner starts without.
class Planner {
 public:
  Planner(const LowerRequest& request, const KernelTable& table);
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  /// Plans from scratch. Nothing else may be asked before it has succeeded.
  [[nodiscard]] std::optional<PlanRefusal> plan();
  /// Gives operators other splits. The plan is then the one that would be made from scratch. If a
  /// layer is cut into other chunks, the plan is made from scratch with a new folding, and
  /// references to folding() become invalid. A layer that is no longer cut loses the split of its
  /// input projection ("lstm.0/input"), if the strategy has one. After a refusal the plan is as
  /// before, and also after Error(usage), where a task has no kernel or a message no algorithm.
  [[nodiscard]] std::optional<PlanRefusal> change(std::span<const SplitChange> changes);
  /// Undoes the last accepted change. There must be one since `plan` or `undo`.
  void undo();

  const Strategy& strategy() const { return strategy_; }
  /// Speaks of the graph with cut layers, if the strategy cuts some.
  const ProgramPlan& program() const { return *plan_; }
  Folding& folding() { return *folding_; }
  /// The graph that is simulated.
  const FoldedGraph& graph() const { return folding_->graph(); }

 private:
  struct FormerSplit {
    std::int32_t op = -1;
    std::optional<Split> split{};       // unset: the strategy did not name the operator
    std::optional<Split> projection{};  // set: the change removed it
  };
  /// Brings request and tables up to date with the layers that the strategy cuts. Returns why it
  /// cannot.
  [[nodiscard]] std::optional<std::string> cut();
  bool has_other_cuts() const;
  const LowerRequest& request() const { return cut_->request; }
  /// Returns the operators of the planned graph that these operators of the model became, and
  /// brings their splits up to date.
  std::vector<std::int32_t> planned_operators(std::span<const std::int32_t> operators);
  /// Sets `operators` to those of the planned graph that changed.
  [[nodiscard]] std::optional<std::string> why_changes_infeasible(
      std::span<const SplitChange> changes, std::vector<std::int32_t>& operators);
  /// Returns the splits as they were, last change first.
  std::vector<FormerSplit> set_splits(std::span<const SplitChange> changes);
  void restore(const std::vector<FormerSplit>& before);
  /// Removes the split of the layer's input projection. Returns it if there was one.
  std::optional<Split> drop_projection(const std::string& layer);
  /// False if the table lacks a row.
  [[nodiscard]] bool follow(const std::vector<std::int32_t>& operators);
  /// Keeps the last change.
  std::optional<PlanRefusal> plan_again();
  std::optional<PlanRefusal> plan_from_scratch();
  PlanRefusal refuse(const std::vector<FormerSplit>& before, PlanRefusal reason);
  [[nodiscard]] bool decide_units(Touched& touched, std::vector<std::int32_t>& decided);
  MissingRows missing_rows() const;

  const KernelTable& table_;
  const Graph& model_;
  Strategy strategy_;
  LowerRequest of_model_;          // with the strategy above
  std::optional<CutRequest> cut_;  // what is planned; set by the first `cut` that succeeds
  std::optional<PlanTables> tables_;
  std::optional<ProgramPlan> plan_;
  std::optional<UnitChooser> chooser_;
  std::optional<Folding> folding_;
  std::optional<std::vector<FormerSplit>> before_;  // the last change, until it is undone
};

}  // namespace troika
