// From a graph and a strategy to a task graph. Pure: reads facts about kernels from the table,
// never measures.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "cost/kernel_table.h"
#include "cost/link_costs.h"
#include "graph/graph.h"
#include "ops/optimizer_spec.h"
#include "strategy/strategy.h"
#include "taskgraph/task_graph.h"

namespace troika {

struct LowerRequest {
  std::string name = "train";
  const Graph* graph = nullptr;
  const Strategy* strategy = nullptr;
  const Machine* machine = nullptr;
  /// Present: a training program with backward and updates. Absent: forward only.
  const OptimizerSpec* optimizer = nullptr;
  /// Names of graph outputs that the host reads; the rest of the graph is left out. A training
  /// program holds those of one number (sums over the batch) only.
  std::vector<std::string> outputs{};
  /// Where other programs over the same state store it, on devices of all ranks.
  std::vector<StateEntry> storage{};
  /// Parameters that lie plain, because other programs over the same state cut them into other
  /// tiles.
  std::set<std::string> plain{};
  /// Parameters that another program updates, and this one does not.
  std::set<std::string> updated_elsewhere{};
  /// The devices whose tasks and buffers the task graph shall have, in ascending order; empty: all
  /// of the machine. All decisions are the same whichever they are.
  std::vector<DeviceId> devices{};
  /// What messages cost; null: the costs of no machine in particular.
  const LinkCosts* links = nullptr;
};

/// The link costs of the request, or those of no machine in particular.
LinkCosts links_of(const LowerRequest& request);

/// The rows that the table must have before lower() can finish: every task, and every chain that
/// might be fused, each for the kinds of the devices that run it. Of all devices of the machine, so
/// that ranks ask for the same rows.
std::vector<KernelRequest> rows_needed(const LowerRequest& request);

/// Rows that the table lacks, for all devices of the machine; nothing is measured inside.
struct MissingRows {
  std::vector<KernelRequest> rows;
};
struct Infeasible {
  std::string reason;
};
using LowerResult = std::variant<TaskGraph, MissingRows, Infeasible>;

[[nodiscard]] LowerResult lower(const LowerRequest& request, const KernelTable& table);

}  // namespace troika
