// How the work of a model is split and placed: a value that is validated, printed, saved as JSON
// and edited by hand.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "machine/machine.h"

namespace troika {

/// How one operator is cut: a degree for each split axis, and the device of every tile (row-major
/// over the axes).
struct Split {
  std::map<std::string, std::int64_t> degrees;
  std::vector<DeviceId> devices;

  bool operator==(const Split&) const = default;
};

struct Strategy {
  /// By the name of the operator; one that is not named is whole, on device 0.
  std::map<std::string, Split> splits;
  std::int64_t micro_batches = 1;

  /// Everything on device 0 in one piece.
  static Strategy single() { return {}; }
  bool operator==(const Strategy&) const = default;
};

/// Why this strategy cannot run this model on this machine: which operator and axis, and what would
/// fit. Nothing when it can.
[[nodiscard]] std::optional<std::string> why_infeasible(const Strategy& strategy,
                                                        const Graph& graph, const Machine& machine);

/// plan.json: self-describing, with the hash of the model it was made for.
std::string to_json(const Strategy& strategy, const Graph& graph);
/// Throws Error(file) with a sentence when the text is no strategy.
Strategy parse_strategy(std::string_view json);

}  // namespace troika
