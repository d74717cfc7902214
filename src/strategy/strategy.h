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
#include "strategy/split.h"

namespace troika {

/// How the replicas of a parameter agree, and how communication runs beside computation.
struct Sync {
  /// Of the devices that store one slice each updates a part, and alone has the optimizer state
  /// for it: reduce-scatter, update, all-gather. Slices that overlap are updated on their own. Else
  /// every device updates what it has.
  bool sliced_update = false;
  Bytes bucket{4 << 20};  ///< Gradients travel together up to this size.
  bool overlap = true;    ///< Communication starts as soon as it can, beside computation.
  /// With it, updates that wait for messages run beside the next step's forward, each right before
  /// its weight is read; their gradients then live through that forward.
  bool carry_updates = true;
  bool priorities = true;  ///< What the next forward needs first goes first.
  /// Sums over shards in the order of a tree, so that bits do not depend on the devices.
  bool fixed_order = false;
  std::string algorithms;  ///< Size ranges, as in cost/algorithm_ranges.h; empty: by cost.
  /// Parameters whose gradients travel together, by name; the rest, or all if it is empty, in fixed
  /// groups by the size `bucket`.
  std::vector<std::vector<std::string>> buckets{};
  /// Messages that go before all others, the most urgent first, by name (message_names.h). The
  /// others follow by the turns of their readers. Names of messages that the plan does not send
  /// have no effect, nor has the list without priorities.
  std::vector<std::string> message_order{};

  bool operator==(const Sync&) const = default;
};

/// A key of run.toml and its value as on the command line: learning_rate and 0.1, name and adam.
struct Setting {
  std::string name;
  std::string value;

  bool operator==(const Setting&) const = default;
};

/// The model that a plan was made for.
struct PlannedModel {
  std::string name;
  std::string hash;                ///< model_hash as 16 hexadecimal digits; empty: any.
  std::vector<Setting> options{};  ///< The other keys of [model].

  bool operator==(const PlannedModel&) const = default;
};

/// The machine that a plan was made for, in short.
struct PlannedMachine {
  std::int64_t devices = 1;
  std::int64_t nodes = 1;
  std::vector<std::string> kinds;  ///< Of its devices, each once, in their order.

  bool operator==(const PlannedMachine&) const = default;
};

struct Strategy {
  /// By the name of the operator; one that is not named is whole, on device 0.
  std::map<std::string, Split> splits;
  std::int64_t micro_batches = 1;
  Sync sync{};
  std::optional<PlannedModel> made_for{};   ///< Unset: any model whose operators it fits.
  std::optional<PlannedMachine> made_on{};  ///< For readers; any machine that has its devices fits.
  /// The global batch and the keys of [optimizer] that it was made with, so that the plan alone can
  /// be simulated. A run with others may use the plan too.
  std::optional<std::int64_t> made_for_batch{};
  std::vector<Setting> optimizer{};

  /// Everything on device 0 in one piece.
  static Strategy single() { return {}; }
  bool operator==(const Strategy&) const = default;
};

/// The strategy without the operators and parameters that the graph does not have: those of a
/// model's other graphs, or the parts of one that a program leaves out.
Strategy restricted(const Strategy& strategy, const Graph& graph);

/// Why this strategy cannot run this model on this machine: which operator and axis, why, and what
/// would fit. Nothing when it can.
[[nodiscard]] std::optional<std::string> why_infeasible(const Strategy& strategy,
                                                        const Graph& graph, const Machine& machine);

/// Why a strategy that was made for another model is not for this one. Nothing when it is, or when
/// it does not say.
[[nodiscard]] std::optional<std::string> why_for_another_model(const Strategy& strategy,
                                                               const Graph& graph);

/// For the end of a sentence about why a plan does not fit a run: that it was made for another
/// global batch. Empty if it was not, or does not say.
std::string batch_note(const Strategy& strategy, std::int64_t global_batch);

PlannedMachine planned_machine(const Machine& machine);

/// The devices that a strategy names.
struct NamedDevices {
  std::int64_t largest = 0;  ///< Number of the last one; device 0 is always used.
  std::int64_t known = 1;    ///< Of the machine it was made for, or as many as it names.

  /// One wrong digit in a plan must not start thousands of devices.
  bool has_gap() const { return largest >= known; }
  bool operator==(const NamedDevices&) const = default;
};

NamedDevices named_devices(const Strategy& strategy);

/// plan.json: self-describing, with the model, the machine and the run it was made for where the
/// strategy says so. One line for each operator, whatever the number of devices.
std::string to_json(const Strategy& strategy);
/// The same, made for this model.
std::string to_json(const Strategy& strategy, const Graph& graph);
/// The same, made for this model on this machine.
std::string to_json(const Strategy& strategy, const Graph& graph, const Machine& machine);
/// Reads both formats, "troika plan 1" and "troika plan 2". Throws Error(file) with a sentence when
/// the text is not a strategy: it gives the line and names each key that a plan does not have, or
/// that is there twice.
Strategy parse_strategy(std::string_view json);
/// The same from a file, which the message names. Throws Error(file) also if it cannot be read or
/// has more than 64 MiB.
Strategy load_strategy(const std::string& path);

}  // namespace troika
