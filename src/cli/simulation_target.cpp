#include "cli/simulation_target.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/mapped_file.h"
#include "cli/outside_writes.h"
#include "cli/recorded_run.h"
#include "config/load_cluster.h"
#include "config/load_run.h"
#include "cost/table_json.h"
#include "setup/choose_strategy.h"
#include "setup/device_counts.h"
#include "setup/known_links.h"
#include "setup/live_model.h"
#include "setup/optimizer_rules.h"
#include "strategy/ready.h"
#include "train/training_sets.h"

namespace troika::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestCostFile = std::size_t{256} << 20;

/// The cluster file as the request wants it; nothing if there is none.
std::optional<Cluster> open_cluster(const SimulationRequest& request) {
  if (request.cluster.empty()) return std::nullopt;
  Cluster cluster = load_cluster(request.cluster);
  if (request.devices > 0) cluster = with_devices(std::move(cluster), request.devices);
  return with_links(std::move(cluster), parse_wish(request.what_if));
}

SimulatedMachine machine_of_cluster(const Cluster& cluster) {
  return {make_machine(cluster), link_costs_of(cluster)};
}

/// The links of the run, else those that were measured on this computer.
LinkCosts known_links(const RecordedRun& recorded, const RunConfig& config) {
  if (recorded.links) return *recorded.links;
  return known_link_costs(default_links_file(config.kernels.cache));
}

/// Devices without a cluster file.
SimulatedMachine with_known_links(Machine machine, LinkCosts known,
                                  const SimulationRequest& request) {
  LinkCosts links = with_links(std::move(known), parse_wish(request.what_if), machine);
  return {std::move(machine), std::move(links)};
}

/// The inputs for the machine of a plan.
struct MachineSources {
  const SimulationRequest& request;
  const std::optional<Cluster>& cluster;
  const RecordedRun& recorded;
};

/// The plans that `--devices` can make for another number of devices.
std::vector<PlanConfig> scalable_plans(std::int64_t devices) {
  std::vector<PlanConfig> plans;
  for (std::string_view name : ready_names()) plans.push_back({.name = std::string(name)});
  for (std::int64_t tensor = 2; tensor < devices; ++tensor)
    if (devices % tensor == 0)
      plans.push_back({.name = "", .data = devices / tensor, .tensor = tensor});
  return plans;
}

std::string text_of(const PlanConfig& plan) {
  return plan.name.empty() ? fmt::format("data {} x tensor {}", plan.data, plan.tensor) : plan.name;
}

/// The ready plan that has the splits of a strategy on its machine; nothing if there is none.
std::optional<PlanConfig> recognise(const PlannedPrograms& programs, const Machine& machine,
                                    const LinkCosts& links) {
  RunConfig config = programs.config;
  config.parallel = {.devices = std::ssize(machine.devices)};
  for (const PlanConfig& plan : scalable_plans(config.parallel.devices)) {
    config.parallel.plan = plan;
    Strategy made = choose_strategy({config, programs.model, machine, links});
    // Written and read, because a plan may write one split in several ways.
    if (parse_strategy(to_json(made)).splits == parse_strategy(to_json(programs.strategy)).splits)
      return plan;
  }
  return std::nullopt;
}

/// The same plan for all devices of another machine.
void make_again(SimulationTarget& target, PlanConfig plan) {
  PlannedPrograms& programs = target.programs;
  std::int64_t devices = std::ssize(target.on.machine.devices);
  if (plan.name.empty() && devices % plan.tensor != 0)
    throw Error(ErrorKind::usage,
                fmt::format("--devices {}: the plan cuts operators into {} parts, so a multiple of "
                            "that is needed",
                            devices, plan.tensor));
  plan.data = devices / plan.tensor;
  programs.config.parallel = {.devices = devices, .plan = plan};
  Strategy made =
      choose_strategy({programs.config, programs.model, target.on.machine, target.on.links});
  programs.strategy.splits = std::move(made.splits);
  target.plan = text_of(plan);
}

/// As machine_of with the devices of --devices, in nodes and processes of the same size.
Machine planned_machine(const Strategy& strategy, const MachineSources& sources,
                        std::vector<std::string>& notes) {
  Machine machine = machine_of(strategy, sources.recorded.ranks, notes);
  std::int64_t devices = sources.request.devices;
  std::int64_t now = std::ssize(machine.devices), nodes = node_count(machine);
  std::int64_t processes = sources.recorded.ranks.value_or(nodes);
  if (devices == 0 || devices == now) return machine;
  std::int64_t each = nodes > 1 ? now / nodes : devices;
  if (devices % each != 0)
    throw Error(ErrorKind::usage,
                fmt::format("--devices {}: the nodes of the plan have {} devices each, so a "
                            "multiple of that is needed",
                            devices, each));
  std::int64_t of_process = std::max<std::int64_t>(1, now / processes);
  machine.devices.resize(as_index(devices), machine.devices.front());
  for (std::int64_t at = 0; at < devices; ++at) {
    DeviceSpec& device = machine.devices[as_index(at)];
    device.node = static_cast<std::int32_t>(at / each);
    device.rank = static_cast<std::int32_t>(processes > 1 ? at / of_process : 0);
  }
  return machine;
}

/// Plans that do not say what their devices are: those that this computer would give a run.
void name_kinds(Machine& machine, const RunConfig& config, std::vector<std::string>& notes) {
  if (!machine.devices.front().kind.empty()) return;
  ParallelConfig parallel{.devices = std::ssize(machine.devices)};
  Machine here = machine_here(config.kernels, parallel);
  for (std::size_t at = 0; at < machine.devices.size(); ++at)
    machine.devices[at].kind = here.devices[at].kind;
  notes.push_back(
      fmt::format("The plan does not say what its devices are; they are taken as '{}' "
                  "like those of this computer.",
                  machine.devices.front().kind));
}

/// The ready plan that a strategy is, where the request is for another number of devices.
std::optional<PlanConfig> plan_to_scale(const MachineSources& sources,
                                        const PlannedPrograms& programs) {
  const SimulationRequest& request = sources.request;
  std::int64_t known = named_devices(programs.strategy).known;
  if (request.devices == 0 || request.devices == known) return std::nullopt;
  std::vector<std::string> notes;
  // As in the run that wrote the plan: ready plans weigh what messages cost.
  LinkCosts costs = known_links(sources.recorded, programs.config);
  Machine made_on = machine_of(programs.strategy, sources.recorded.ranks, notes);
  if (auto plan = recognise(programs, made_on, costs)) return plan;
  throw Error(ErrorKind::usage,
              fmt::format("--devices {} needs a ready plan, such as \"data\", but this one places "
                          "operators on its own {} devices; leave out --devices, or simulate a run "
                          "file with a ready plan",
                          request.devices, known));
}

void choose_machine(const MachineSources& sources, SimulationTarget& target) {
  if (sources.cluster) {
    target.on = machine_of_cluster(*sources.cluster);
    target.is_here = false;
    return;
  }
  const PlannedPrograms& programs = target.programs;
  Machine machine = planned_machine(programs.strategy, sources, target.notes);
  name_kinds(machine, programs.config, target.notes);
  if (programs.config.parallel.weights == ParallelConfig::Weights::measured)
    target.notes.emplace_back(
        "The run weighted its tiles by measured speeds, which the plan does not hold; all devices "
        "are taken as equally fast.");
  target.on = with_known_links(std::move(machine), known_links(sources.recorded, programs.config),
                               sources.request);
}

SimulationTarget open_plan(const Strategy& strategy, const fs::path& folder,
                           const MachineSources& sources) {
  const SimulationRequest& request = sources.request;
  if (!strategy.made_for)
    throw Error(ErrorKind::usage, "the plan does not say which model it is for; add 'model' to it");
  SimulationTarget target{.programs = load_programs(strategy, folder, request.batch),
                          .plan = request.target};
  // A run file from another user must not choose where this user writes.
  KernelsConfig& kernels = target.programs.config.kernels;
  if (writes_cache_outside(folder, target.programs.config)) kernels.cache = "auto";
  std::optional<PlanConfig> scaled = plan_to_scale(sources, target.programs);
  choose_machine(sources, target);
  if (scaled) make_again(target, *scaled);
  return target;
}

SimulationTarget open_plan_file(const SimulationRequest& request) {
  if (!request.overrides.empty())
    throw Error(
        ErrorKind::usage,
        fmt::format("'{}' replaces a key of a run file, but '{}' is a plan; give a run file",
                    request.overrides.front(), request.target));
  Strategy strategy = load_strategy(request.target);
  return open_plan(strategy, fs::absolute(request.target).parent_path(), request);
}

RunConfig load_config(const SimulationRequest& request, const std::optional<Cluster>& cluster) {
  std::vector<std::string> overrides = request.overrides;
  if (request.batch > 0) overrides.push_back(fmt::format("train.global_batch={}", request.batch));
  RunConfig config = load_run(request.target, overrides);
  std::int64_t devices = request.devices;
  // A ready plan takes all devices of a cluster; a plan file and degrees have their own number.
  const PlanConfig& plan = config.parallel.plan;
  if (cluster && devices == 0 && !plan.is_file() && !plan.name.empty())
    devices = std::ssize(make_machine(*cluster).devices);
  if (devices == 0) return config;
  overrides.push_back(fmt::format("parallel.devices={}", devices));
  return load_run(request.target, overrides);
}

SimulationTarget open_run(const SimulationRequest& request) {
  std::optional<Cluster> cluster = open_cluster(request);
  RunConfig config = load_config(request, cluster);
  if (cluster && config.parallel.plan.is_auto())
    throw Error(ErrorKind::usage,
                "plan \"auto\" searches a plan for this computer; find one for the cluster with "
                "'troika plan RUN.toml --cluster FILE --out plan.json' and simulate that");
  data::Encoding samples = open_sets(config).train->encoding();
  zoo::Model model =
      build_model(config.model, samples_of(samples, config, config.train.global_batch));
  freeze_parameters(model, config.train.freeze);
  SimulatedMachine on = cluster ? machine_of_cluster(*cluster)
                                : with_known_links(machine_here(config.kernels, config.parallel),
                                                   known_links({}, config), request);
  Strategy strategy = choose_strategy({config, model, on.machine, on.links});
  require_names(model, strategy);  // of a plan file
  std::string plan = text_of(config.parallel.plan);
  return {.programs = {std::move(strategy), std::move(config), std::move(model)},
          .plan = std::move(plan),
          .on = std::move(on),
          .is_here = !cluster};
}

bool is_plan_file(const std::string& path) { return fs::path(path).extension() == ".json"; }

}  // namespace

KernelTable load_costs(const std::string& path) {
  try {
    return parse_costs(read_small_file(path, kLargestCostFile));
  } catch (const Error& error) {
    throw error.within(path);
  }
}

SimulationTarget open_plan(const Strategy& strategy, const fs::path& folder,
                           const SimulationRequest& request) {
  // Errors of these files name their own file.
  std::optional<Cluster> cluster = open_cluster(request);
  RecordedRun recorded = read_recorded_run(folder);
  try {
    return open_plan(strategy, folder, {request, cluster, recorded});
  } catch (const Error& error) {
    throw error.within(request.target);
  }
}

SimulationTarget open_simulation(const SimulationRequest& given) {
  MachineWish wish = parse_wish(given.what_if);
  SimulationRequest request = given;
  if (wish.devices > 0 && given.devices > 0 && wish.devices != given.devices)
    throw Error(ErrorKind::usage, fmt::format("--devices {} and --what-if devices={} differ",
                                              given.devices, wish.devices));
  if (wish.devices > 0) request.devices = wish.devices;
  KernelTable costs = request.costs.empty() ? KernelTable{} : load_costs(request.costs);
  SimulationTarget target =
      is_plan_file(request.target) ? open_plan_file(request) : open_run(request);
  target.costs = std::move(costs);
  target.on.machine = with_memory(std::move(target.on.machine), wish);
  return target;
}

}  // namespace troika::cli
