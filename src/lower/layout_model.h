// What a choice of kernels costs: their times, and the reorders of values that lie otherwise than a
// reader wants.
#pragma once

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cost/kernel_table.h"
#include "taskgraph/task_graph.h"

namespace troika {

struct LayoutSearchOptions {
  const Machine& machine;
  const std::vector<StoredSlice>& storage;  ///< What another program has fixed.
};

/// A candidate with a time: measured, or by rule.
struct LayoutOption {
  KernelChoice choice;
  bool flat;
};

/// One operand of one task.
struct OperandPlace {
  std::size_t task, operand;
};

inline constexpr std::size_t kLayouts = static_cast<std::size_t>(Layout::group_g16) + 1;
/// How many operands lie so, or shall.
using LayoutCounts = std::array<std::int32_t, kLayouts>;

/// A buffer, with the views of its own shape.
struct LayoutValue {
  std::optional<Layout> fixed;        ///< By the host, another program, or a view of another shape.
  std::optional<Layout> stored;       ///< Of a parameter that no task writes.
  std::vector<OperandPlace> writers;  ///< They agree; the first one decides.
  std::vector<OperandPlace> readers;
  bool wanted_plain = false;         ///< Read through a view of another shape, or by the host.
  LayoutCounts written{}, wanted{};  ///< By the writers and readers that have a choice.
};

/// Borrows graph and table. Tasks without a choice yet cost nothing and ask for nothing.
class LayoutModel {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  /// Throws Error(usage) for a task without kernels.
  LayoutModel(const TaskGraph& graph, const KernelTable& table, const LayoutSearchOptions& options);

  const std::vector<LayoutOption>& options(std::size_t task) const { return options_[task]; }
  /// The option as it is; a flat one also in each of the layouts.
  std::vector<KernelChoice> variants(std::size_t task, const LayoutOption& option,
                                     const std::set<Layout>& layouts) const;

  const std::optional<KernelChoice>& choice(std::size_t task) const { return choices_[task]; }
  void set_choice(std::size_t task, std::optional<KernelChoice> choice);
  std::vector<LayoutValue>& values() { return values_; }
  LayoutValue& value_of(BufferId id) { return values_[index_[id.index()]]; }
  const LayoutValue& value_of(BufferId id) const { return values_[index_[id.index()]]; }

  /// How the value lies by the choices made so far.
  std::optional<Layout> layout(const LayoutValue& value) const;
  /// That, and how its readers want it.
  std::set<Layout> layouts_around(const LayoutValue& value) const;
  /// All reorders that readers of the value need, if it lies so; infinite where writers disagree.
  double value_cost(const LayoutValue& value, Layout lies) const;
  /// The time of these tasks and of the reorders of all values that they touch.
  double cost(const std::vector<std::size_t>& tasks) const;

 private:
  struct Work {
    Flops flops;
    Bytes bytes;
  };

  void add_options(const Task& task);
  void count(std::size_t task, std::int32_t by);
  void fix(const std::vector<StoredSlice>& storage);
  void tie_members();
  void note_uses(std::size_t task);
  std::optional<Layout> at(OperandPlace place) const;
  double reorder(const LayoutValue& value, Layout from, Layout to) const;

  const TaskGraph& graph_;
  const KernelTable& table_;
  const Machine& machine_;
  std::vector<std::size_t> index_;   // by BufferId, into values_
  std::vector<LayoutValue> values_;  // by BufferId; those of views of the same shape stay empty
  std::map<const std::vector<Candidate>*, Work> work_;  // by the row of the table
  std::vector<std::vector<LayoutOption>> options_;      // by task
  std::vector<std::optional<KernelChoice>> choices_;    // by task
  using Move = std::tuple<const LayoutValue*, Layout, Layout>;
  mutable std::map<Move, double> reorders_;  // as far as asked
};

/// The candidate with the least time, or the first where times are missing. The row is not empty.
const Candidate& quickest(const std::vector<Candidate>& row);

/// The least measured time of the reorder, or an estimate where the table has no such row.
SimTime reorder_time(const KernelTable& table, const DeviceSpec& device, const TensorSpec& spec,
                     Reorder layouts);

}  // namespace troika
