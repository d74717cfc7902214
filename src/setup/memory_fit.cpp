#include "setup/memory_fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "machine/computer.h"
#include "machine/limits.h"
#include "setup/choose_strategy.h"

namespace troika {
namespace {

constexpr std::int64_t kMostParts = 64, kMostTimesDevices = 8;

struct Change {
  std::string advice;
  Strategy strategy;
  Machine machine;
};

/// How it is said in the run's configuration, or in the plan file where that is the plan.
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
  Strategy at_once = request.strategy;
  at_once.sync.carry_updates = false;
  if (machine.devices.size() > 1 && request.strategy.sync.carry_updates)
    changes.push_back({say.in_all({say.not_carried()}), at_once, machine});
  const Sync& sync = request.strategy.sync;
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

/// A plan for `times` as many devices, and how to ask for it. A plan file knows its devices.
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

/// Where nothing else is said, they share the memory that there is.
Machine with_more_devices(const Machine& machine, const ParallelConfig& parallel) {
  Machine more = machine;
  more.devices.resize(static_cast<std::size_t>(parallel.devices), machine.devices.front());
  auto before = static_cast<std::int64_t>(machine.devices.size());
  for (DeviceSpec& device : more.devices)
    if (!parallel.memory) device.memory = {device.memory.count * before / parallel.devices};
  return more;
}

void add_on_more_devices(const FitRequest& request, std::vector<Change>& changes) {
  for (std::int64_t times = 2; times <= kMostTimesDevices; times *= 2) {
    RunConfig wider = request.run.config;
    std::string advice = widen(wider.parallel, times);
    Machine machine = with_more_devices(request.live.setup().machine, wider.parallel);
    try {
      changes.push_back(
          {advice, choose_strategy(wider, *request.run.models.front(), machine), machine});
    } catch (const Error&) {  // no such plan
    }
  }
}

/// The most that a device would hold, if all of them had room for it.
std::optional<Bytes> most_held(const FitRequest& request, const Change& change) {
  std::vector<TaskGraph> programs;
  try {
    programs = request.live.plan_programs(request.run, change.strategy, change.machine);
  } catch (const Error&) {  // infeasible
    return std::nullopt;
  }
  std::vector<const TaskGraph*> all;
  for (const TaskGraph& program : programs) all.push_back(&program);
  std::vector<MemoryTable> needed = memory_by_device(all);
  if (find_shortage(needed, change.machine)) return std::nullopt;
  Bytes most;
  for (const MemoryTable& table : needed) most = std::max(most, table.total());
  return most;
}

std::string find_advice(const FitRequest& request) {
  std::vector<Change> changes;  // cheapest first
  add_on_these_devices(request, changes);
  add_on_more_devices(request, changes);
  for (const Change& change : changes)
    if (std::optional<Bytes> held = most_held(request, change))
      return fmt::format("the cheapest change that would fit: {} ({} per device)", change.advice,
                         to_string(*held));
  return "neither a sliced update nor micro-batches nor eight times the devices would fit; take a "
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
    Bytes there = machine.devices[at].memory, held = needed[at].total();
    if (there == Bytes{} || held <= there) continue;
    if (!worst || held - there > worst->needed.total() - worst->there)
      worst = Shortage{DeviceId(at), needed[at], there};
  }
  return worst;
}

namespace {

/// Why a device has less than the computer, where a control group is the reason.
std::string limit_text(const ParallelConfig& parallel) {
  CgroupLimits limits = read_cgroup_limits();
  if (parallel.memory || !limits.memory || limits.memory->limit > computer_memory()) return {};
  return fmt::format("\n  {:<12} {:>10} for the whole process, by {}", "limit",
                     to_string(limits.memory->limit), limits.memory->file);
}

/// More than the programs can hold on a device, workspace and padding aside: every tensor with its
/// gradient, every parameter with its gradient and two moments, all at once.
Bytes most_imaginable(const RunPrograms& run) {
  Bytes total;
  for (const zoo::Model* model : run.models)
    for (const zoo::NamedGraph& named : model->graphs) {
      for (const Tensor& tensor : named.graph.tensors) total += tensor.spec.bytes() * 2;
      for (const Parameter& parameter : named.graph.parameters) total += parameter.spec.bytes() * 4;
    }
  return total;
}

/// Spares most runs the cost of lowering twice. Padding is left the other half.
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
                          to_string(shortage->needed.total()), to_string(shortage->there),
                          to_text(shortage->needed), limit_text(request.run.config.parallel),
                          find_advice(request)));
}

}  // namespace

void require_fit(const FitRequest& request) {
  require_none_short(memory_by_device(request.live.programs()), request);
}

void require_fit_to_measure(const FitRequest& request) {
  const RuntimeSetup& setup = request.live.setup();
  if (!setup.is_measured || surely_fits(request.run, setup.machine)) return;
  std::vector<TaskGraph> programs;
  try {
    programs = request.live.plan_programs(request.run, request.strategy, setup.machine);
  } catch (const Error&) {  // infeasible: said when the programs are added
    return;
  }
  std::vector<const TaskGraph*> all;
  for (const TaskGraph& program : programs) all.push_back(&program);
  std::vector<MemoryTable> needed = memory_by_device(all);
  std::vector<MemoryTable> least = needed;
  for (MemoryTable& table : least) {
    auto workspace = table.categories.find(Category::workspace);
    if (workspace != table.categories.end())
      table.arena = {std::max<std::int64_t>(0, (table.arena - workspace->second).count)};
  }
  if (find_shortage(least, setup.machine)) require_none_short(needed, request);
}

}  // namespace troika
