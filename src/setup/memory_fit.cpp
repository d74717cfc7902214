#include "setup/memory_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "machine/computer.h"
#include "machine/limits.h"
#include "setup/choose_strategy.h"

namespace troika {
namespace {

// Limits of the search for advice. Each try lowers all programs again, and further doublings would
// rarely be followed.
constexpr std::int64_t kMostParts = 64, kMostTimesDevices = 8;

using Json = nlohmann::json;

/// What ranks tell each other about a device.
Json as_json(const MemoryTable& table) {
  Json categories = Json::array();
  for (const auto& [category, bytes] : table.categories)
    categories.push_back({static_cast<int>(category), bytes.count});
  return {{"persistent", table.persistent.count},
          {"arena", table.arena.count},
          {"messages", table.messages.count},
          {"categories", categories},
          {"peak_task", table.peak_task}};
}

MemoryTable parse_table(const Json& json) {
  MemoryTable table{.persistent = {json.at("persistent").get<std::int64_t>()},
                    .arena = {json.at("arena").get<std::int64_t>()},
                    .messages = {json.at("messages").get<std::int64_t>()},
                    .categories = {},
                    .peak_task = json.at("peak_task")};
  for (const Json& entry : json.at("categories"))
    table.categories[static_cast<Category>(entry.at(0).get<int>())] = {
        entry.at(1).get<std::int64_t>()};
  return table;
}

/// A change of the run that may make it fit.
struct Change {
  std::string advice;
  Strategy strategy;
  Machine machine;
};

/// Words advice as overrides of the run file, or as edits of the plan file if the run has one.
struct Wording {
  const PlanConfig& plan;

  std::string sliced() const {
    return plan.is_file() ? "\"sliced_update\": true in \"sync\"" : "parallel.sliced_update=true";
  }
  std::string not_carried() const {
    return plan.is_file() ? "\"carry_updates\": false in \"sync\"" : "parallel.carry_updates=false";
  }
  std::string parts(std::int64_t count) const {
    return fmt::format(
        fmt::runtime(plan.is_file() ? "\"micro_batches\": {}" : "parallel.micro_batches={}"),
        count);
  }
  std::string in_all(const std::vector<std::string>& keys) const {
    std::string text = fmt::format("{}", fmt::join(keys, plan.is_file() ? " and " : " "));
    return plan.is_file() ? fmt::format("{} of {}", text, plan.name) : text;
  }
};

void add_on_these_devices(const FitRequest& request, std::vector<Change>& changes) {
  Wording say{request.run.config.parallel.plan};
  const Machine& machine = request.live.setup().machine;
  // Updates that are carried over keep their gradients during the next forward pass.
  Strategy at_once = request.strategy;
  at_once.sync.carry_updates = false;
  if (machine.devices.size() > 1 && request.strategy.sync.carry_updates)
    changes.push_back({say.in_all({say.not_carried()}), at_once, machine});
  const Sync& sync = request.strategy.sync;
  // Replicas share a sliced update, and one device has none. A fixed order excludes it.
  bool can_slice = machine.devices.size() > 1 && !sync.sliced_update && !sync.fixed_order;
  Strategy sliced = request.strategy;
  sliced.sync.sliced_update = true;
  if (can_slice) changes.push_back({say.in_all({say.sliced()}), sliced, machine});
  for (std::int64_t parts = 2 * request.strategy.micro_batches; parts <= kMostParts; parts *= 2) {
    Strategy cut = request.strategy;
    cut.micro_batches = parts;
    changes.push_back({say.in_all({say.parts(parts)}), cut, machine});
    cut.sync.sliced_update = true;
    if (can_slice) changes.push_back({say.in_all({say.parts(parts), say.sliced()}), cut, machine});
  }
}

/// Changes the plan to one for `times` as many devices and returns the overrides that ask for it. A
/// plan file is bound to its devices, so it is replaced by plan "data".
std::string widen(ParallelConfig& parallel, std::int64_t times) {
  parallel.devices *= times;
  std::string devices = fmt::format("-n {}", parallel.devices);
  PlanConfig& plan = parallel.plan;
  if (plan.name.empty()) {
    plan.data *= times;
    return fmt::format("{} parallel.plan.data={}", devices, plan.data);
  }
  if (plan.is_file() || plan.name == "single") {
    plan.name = "data";
    return devices + " parallel.plan=data";
  }
  return devices;
}

/// Unless parallel.memory is set, the devices share the memory that the present ones have.
Machine with_more_devices(const Machine& machine, const ParallelConfig& parallel) {
  Machine more = machine;
  more.devices.resize(static_cast<std::size_t>(parallel.devices), machine.devices.front());
  auto before = static_cast<std::int64_t>(machine.devices.size());
  for (DeviceSpec& device : more.devices)
    if (!parallel.memory) device.memory = {device.memory.count * before / parallel.devices};
  return more;
}

void add_on_more_devices(const FitRequest& request, std::vector<Change>& changes) {
  // A search for each number of devices would take too long for an advice.
  if (request.run.config.parallel.plan.is_auto()) return;
  for (std::int64_t times = 2; times <= kMostTimesDevices; times *= 2) {
    RunConfig wider = request.run.config;
    std::string advice = widen(wider.parallel, times);
    const RuntimeSetup& setup = request.live.setup();
    Machine machine = with_more_devices(setup.machine, wider.parallel);
    try {
      changes.push_back(
          {advice, choose_strategy({wider, *request.run.models.front(), machine, setup.links}),
           machine});
    } catch (const Error&) {  // the plan does not exist for so many devices
    }
  }
}

/// Predicts what each device would hold; nothing if the strategy is infeasible.
std::optional<std::vector<MemoryTable>> planned_memory(const FitRequest& request,
                                                       const Strategy& strategy,
                                                       const Machine& machine) {
  try {
    std::vector<TaskGraph> programs = request.live.plan_programs(request.run, strategy, machine);
    std::vector<const TaskGraph*> all;
    for (const TaskGraph& program : programs) all.push_back(&program);
    return memory_by_device(all);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Returns the largest need of a device after the change; nothing if the run would still not fit.
std::optional<Bytes> most_held(const FitRequest& request, const Change& change) {
  auto needed = planned_memory(request, change.strategy, change.machine);
  if (!needed || find_shortage(*needed, change.machine)) return std::nullopt;
  return std::ranges::max(*needed, {}, &MemoryTable::total).total();
}

std::string find_advice(const FitRequest& request) {
  // The first change that fits is the answer, so the order of the list is the order of preference.
  std::vector<Change> changes;  // cheapest first
  add_on_these_devices(request, changes);
  add_on_more_devices(request, changes);
  for (const Change& change : changes)
    if (std::optional<Bytes> held = most_held(request, change))
      return fmt::format("the cheapest change that would fit: {} ({} per device)", change.advice,
                         to_string(*held));
  return "neither a sliced update nor micro-batches nor eight times the devices would fit; use a "
         "smaller batch or model";
}

std::string to_text(const MemoryTable& memory) {
  std::string text;
  for (const auto& [category, bytes] : memory.categories)
    text += fmt::format("\n  {:<12} {:>10}", to_string(category), to_string(bytes));
  return text + fmt::format("\n  {:<12} at '{}'", "fullest", memory.peak_task);
}

}  // namespace

std::optional<Shortage> find_shortage(const std::vector<MemoryTable>& needed,
                                      const Machine& machine) {
  std::optional<Shortage> worst;
  for (std::size_t at = 0; at < machine.devices.size(); ++at) {
    Bytes available = machine.devices[at].memory, held = needed[at].total();
    if (available == Bytes{} || held <= available) continue;
    if (!worst || held - available > worst->needed.total() - worst->available)
      worst = Shortage{DeviceId(at), needed[at], available};
  }
  return worst;
}

namespace {

/// Names the control group limit if it is the reason why devices have less than the computer.
std::string limit_text(const ParallelConfig& parallel) {
  CgroupLimits limits = read_cgroup_limits();
  if (parallel.memory || !limits.memory || limits.memory->limit > computer_memory()) return {};
  return fmt::format("\n  {:<12} {:>10} for the whole process, by {}", "limit",
                     to_string(limits.memory->limit), limits.memory->file);
}

/// Upper bound of what the programs hold on a device, without workspace and padding: every tensor
/// with its gradient, and every parameter with its gradient and two moments, all at once.
Bytes most_imaginable(const RunPrograms& run) {
  Bytes total;
  for (const zoo::Model* model : run.models)
    for (const zoo::NamedGraph& named : model->graphs) {
      for (const Tensor& tensor : named.graph.tensors) total += tensor.spec.bytes() * 2;
      for (const Parameter& parameter : named.graph.parameters) total += parameter.spec.bytes() * 4;
    }
  return total;
}

/// Saves most runs the cost of lowering twice. The factor 2 leaves room for workspace and padding.
bool surely_fits(const RunPrograms& run, const Machine& machine) {
  Bytes most = most_imaginable(run);
  return std::ranges::all_of(machine.devices, [&](const DeviceSpec& device) {
    return device.memory == Bytes{} || most * 2 <= device.memory;
  });
}

void require_none_short(const std::vector<MemoryTable>& needed, const FitRequest& request) {
  std::optional<Shortage> shortage = find_shortage(needed, request.live.setup().machine);
  if (!shortage) return;
  throw Error(ErrorKind::memory,
              fmt::format("device {} would hold {}, but it has {}:{}{}\n{}", shortage->device.value,
                          to_string(shortage->needed.total()), to_string(shortage->available),
                          to_text(shortage->needed), limit_text(request.run.config.parallel),
                          find_advice(request)));
}

}  // namespace

std::vector<MemoryTable> gather_memory(const LiveModel& live) {
  std::vector<MemoryTable> tables = memory_by_device(live.programs());
  Json own = Json::object();
  for (const auto& [device, driver] : live.setup().local().devices)
    own[std::to_string(device.value)] = as_json(tables[device.index()]);
  for (const std::string& text : live.setup().ranks->exchange(own.dump())) {
    Json theirs = Json::parse(text);
    for (const auto& [device, table] : theirs.items())
      tables.at(std::stoul(device)) = parse_table(table);
  }
  return tables;
}

void require_fit(const FitRequest& request, const std::vector<MemoryTable>& needed) {
  require_none_short(needed, request);
}

void require_fit_to_measure(const FitRequest& request) {
  const RuntimeSetup& setup = request.live.setup();
  if (!setup.is_measured || surely_fits(request.run, setup.machine)) return;
  auto needed = planned_memory(request, request.strategy, setup.machine);
  if (!needed) return;  // infeasible; adding the programs reports why
  // Judged by the need without workspace, but reported with it: the message lists what the run
  // would hold with kernels chosen by rule.
  std::vector<MemoryTable> least = *needed;
  for (MemoryTable& table : least) {
    auto workspace = table.categories.find(Category::workspace);
    if (workspace != table.categories.end())
      table.arena = {std::max<std::int64_t>(0, (table.arena - workspace->second).count)};
  }
  if (find_shortage(least, setup.machine)) require_none_short(*needed, request);
}

}  // namespace troika
