// How each communication runs: its algorithm, by predicted cost.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cost/choose_algorithm.h"
#include "cost/link_costs.h"
#include "cost/message_phases.h"
#include "lower/table_key.h"
#include "strategy/strategy.h"
#include "taskgraph/task_graph.h"

namespace troika {

struct CommunicationChoices {
  const Machine& machine;
  const LinkCosts& links;
  const Sync& sync;
};

/// Why the strategy's own choice of algorithms cannot be read. Nothing when it can, or there is
/// none.
[[nodiscard]] std::optional<std::string> why_no_algorithms(const Sync& sync);

/// Chooses once for calls that are alike. Grows with what is asked. Borrows the choices' parts.
class AlgorithmTable {
 public:
  explicit AlgorithmTable(const CommunicationChoices& choices);

  /// The call has its count as stored, nodes and processes. Throws Error(usage), every time, if the
  /// strategy asks for an algorithm that cannot do it.
  const AlgorithmChoice& choose(const CollectiveCall& call, DType dtype);

 private:
  const LinkCosts& links_;
  AlgorithmRanges ranges_;  // of the strategy, for what is reduced; other collectives go by cost
  std::unordered_map<TableKey, AlgorithmChoice, TableKeyHash> known_;
};

/// Fills in what is left open of a call between these devices with buffers of so many bytes.
void complete_call(CollectiveCall& call, DType dtype, Bytes buffer, const Machine& machine,
                   std::span<const DeviceId> devices);

bool is_measured(const AlgorithmChoice& choice);

/// The phases of calls that network cards run. Keeps what calls between the same devices share.
/// Borrows its parts.
class PhaseMaker {
 public:
  PhaseMaker(const Network& network, const LinkCosts& links);

  /// Whether members copy and combine themselves, while they wait or between kernels: all are on
  /// one computer, and no link is listed that would do it for them.
  bool is_moved_by_devices(const CollectiveCall& call) const;

  /// Stays where it is.
  Placement& place(const CollectiveCall& call, std::span<const std::int32_t> devices);
  /// On link groups of the placement (cost/message_phases.h).
  MessagePhases make(Placement& placement, CollectiveCall call, DType dtype,
                     const AlgorithmChoice& choice);

 private:
  const Network& network_;
  const LinkCosts& links_;
  Placements placements_;
};

/// After layouts are chosen: counts are those of the buffers as stored.
void choose_algorithms(TaskGraph& graph, const CommunicationChoices& choices);

}  // namespace troika
