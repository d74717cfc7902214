#include "cli/planned_programs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cli/run_target.h"
#include "config/load_run.h"
#include "setup/live_model.h"
#include "setup/optimizer_rules.h"
#include "strategy/plan_origin.h"
#include "taskgraph/turn.h"
#include "train/training_sets.h"

namespace troika::cli {
namespace {

/// The run that a plan was made for, as far as the plan says.
RunConfig run_of(const Strategy& strategy) {
  if (!strategy.made_for_batch)
    throw Error(ErrorKind::usage, "the plan does not say which global batch it is for");
  // The keys that every run has. Samples are those that the model has by default.
  std::vector<std::string> keys{"data.train=digits:train", "train.steps=1",
                                "model.name=" + strategy.made_for->name,
                                fmt::format("train.global_batch={}", *strategy.made_for_batch)};
  for (const Setting& option : strategy.made_for->options)
    keys.push_back(fmt::format("model.{}={}", option.name, option.value));
  for (const Setting& key : strategy.optimizer)
    keys.push_back(fmt::format("optimizer.{}={}", key.name, key.value));
  return parse_run("", "plan", keys).config;
}

/// The model for samples of its default form or, where the plan was made for others, for those of
/// the run's data.
zoo::Model model_of(const Strategy& strategy, const RunConfig& config, bool has_data) {
  std::int64_t batch = config.train.global_batch;
  zoo::Model model = build_model(config.model, samples_of({}, config, batch));
  if (why_for_another_model(strategy, model.train()) && has_data) {
    data::Encoding encoding = open_sets(config).train->encoding();
    model = build_model(config.model, samples_of(encoding, config, batch));
  }
  if (why_for_another_model(strategy, model.train()))
    throw Error(ErrorKind::usage,
                has_data ? "the run folder has another model than the plan"
                         : "the plan was made for samples that only its run folder knows");
  freeze_parameters(model, config.train.freeze);
  return model;
}

/// Why it is not known which device is of which kind or in which node.
std::optional<std::string> why_not_alike(const PlannedMachine& planned, std::int64_t devices) {
  constexpr std::string_view kAdvice = "describe the machine with --cluster CLUSTER.toml";
  if (planned.kinds.size() > 1)
    return fmt::format(
        "the plan has devices of {} kinds, but does not say which kind each device "
        "has; {}",
        planned.kinds.size(), kAdvice);
  if (planned.nodes > 1 && devices % planned.nodes != 0)
    return fmt::format(
        "the plan has {} devices in {} nodes, but does not say how many each node "
        "has; {}",
        devices, planned.nodes, kAdvice);
  return std::nullopt;
}

/// Says which devices are assumed to share a node or a process.
std::optional<std::string> note_on_layout(std::int64_t devices, std::int64_t nodes,
                                          std::optional<std::int64_t> ranks) {
  if (nodes > 1)
    return fmt::format(
        "The plan says that there are {} nodes. They are assumed to have {} devices{} each, in the "
        "order of the devices.",
        nodes, devices / nodes, ranks ? "" : " and one process");
  if (devices > 1 && !ranks)
    return "The plan does not say which devices share a process; all are assumed to share one.";
  return std::nullopt;
}

}  // namespace

PlannedPrograms load_programs(const Strategy& strategy, const std::filesystem::path& folder,
                              std::int64_t global_batch) {
  bool has_run = is_run_folder(folder);
  RunConfig config = has_run ? load_run((folder / "run.toml").string()) : run_of(strategy);
  if (global_batch > 0) config.train.global_batch = global_batch;
  zoo::Model model = model_of(strategy, config, has_run);
  require_names(model, strategy);
  return {strategy, std::move(config), std::move(model)};
}

Machine devices_only(const Strategy& strategy) {
  NamedDevices devices = named_devices(strategy);
  std::int64_t count = std::max<std::int64_t>(devices.known, devices.largest + 1);
  if (auto reason = why_out_of_ids({.devices = count})) throw Error(ErrorKind::usage, *reason);
  Machine machine;
  machine.devices.resize(static_cast<std::size_t>(count));
  return machine;
}

Machine machine_of(const Strategy& strategy, std::optional<std::int64_t> ranks,
                   std::vector<std::string>& notes) {
  Machine machine = devices_only(strategy);
  const PlannedMachine planned = strategy.made_on.value_or(PlannedMachine{});
  std::int64_t devices = std::ssize(machine.devices);
  std::int64_t nodes = std::max<std::int64_t>(planned.nodes, 1);
  if (auto reason = why_not_alike(planned, devices)) throw Error(ErrorKind::usage, *reason);
  // No process is in two nodes.
  std::int64_t processes = std::clamp(ranks.value_or(nodes), nodes, devices);
  for (std::int64_t at = 0; at < devices; ++at) {
    DeviceSpec& device = machine.devices[as_index(at)];
    if (!planned.kinds.empty()) device.kind = planned.kinds[0];
    device.node = static_cast<std::int32_t>(at / (devices / nodes));
    device.rank = static_cast<std::int32_t>(at * processes / devices);
  }
  if (auto note = note_on_layout(devices, nodes, ranks)) notes.push_back(*note);
  return machine;
}

void for_each_program(const PlannedPrograms& programs, const Machine& machine,
                      const std::function<void(const LowerRequest&)>& take) {
  for (const zoo::NamedGraph& named : programs.model.graphs) {
    Strategy own = restricted(programs.strategy, named.graph);
    if (auto reason = why_infeasible(own, named.graph, machine))
      throw Error(ErrorKind::usage, *reason);
    if (auto reason = why_out_of_ids({.micro_batches = own.micro_batches,
                                      .operators = std::ssize(named.graph.operators),
                                      .tensors = std::ssize(named.graph.tensors),
                                      .parameters = std::ssize(named.graph.parameters),
                                      .devices = std::ssize(machine.devices)}))
      throw Error(ErrorKind::usage, *reason);
    OptimizerSpec optimizer = make_optimizer(programs.config, named.graph);
    take({.name = named.name,
          .graph = &named.graph,
          .strategy = &own,
          .machine = &machine,
          .optimizer = &optimizer});
  }
}

OrderedMessages order_messages_of(const PlannedPrograms& programs, const OrderTarget& target) {
  if (programs.model.graphs.size() != 1)
    throw Error(ErrorKind::usage,
                fmt::format("--order-messages: a step of '{}' is {} programs, which begin from "
                            "rest; messages can be ordered where one program follows itself",
                            programs.model.name, programs.model.graphs.size()));
  std::optional<OrderedMessages> ordered;
  for_each_program(programs, target.machine, [&](const LowerRequest& request) {
    LowerRequest own = request;
    own.links = &target.links;
    ordered = order_plan(own, target.answer, target.table);
  });
  return *ordered;
}

}  // namespace troika::cli
