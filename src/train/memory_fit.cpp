#include "train/memory_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "taskgraph/memory_table.h"
#include "train/choose_strategy.h"

namespace troika {
namespace {

std::vector<const TaskGraph*> pointers_to(const std::vector<TaskGraph>& programs) {
  std::vector<const TaskGraph*> all;
  for (const TaskGraph& program : programs) all.push_back(&program);
  return all;
}

Bytes most_needed(const std::vector<TaskGraph>& programs) {
  Bytes most;
  for (std::size_t device = 0; device < programs.at(0).arena.size(); ++device)
    most = std::max(most, memory_needed(pointers_to(programs), DeviceId(device)));
  return most;
}

struct Change {
  std::string advice;
  Strategy strategy;
  std::int64_t devices;
};

/// Cheapest first.
std::vector<Change> possible_changes(const FitRequest& request) {
  constexpr std::int64_t kMostParts = 64;
  std::vector<Change> changes;
  auto devices = static_cast<std::int64_t>(request.live.machinery().machine.devices.size());
  bool can_slice = devices > 1 && !request.strategy.sync.sliced_update;
  if (can_slice) {
    Strategy sliced = request.strategy;
    sliced.sync.sliced_update = true;
    changes.push_back({"parallel.sliced_update=true", sliced, devices});
  }
  for (std::int64_t parts = 2 * request.strategy.micro_batches; parts <= kMostParts; parts *= 2) {
    Strategy cut = request.strategy;
    cut.micro_batches = parts;
    changes.push_back({fmt::format("parallel.micro_batches={}", parts), cut, devices});
    cut.sync.sliced_update = true;
    if (can_slice)
      changes.push_back({fmt::format("parallel.micro_batches={} parallel.sliced_update=true", parts),
                         cut, devices});
  }
  for (std::int64_t more = 2 * devices; more <= 8 * devices; more *= 2)
    changes.push_back({fmt::format("-n {}", more), request.strategy, more});
  return changes;
}

/// Nothing where the change is infeasible.
std::optional<std::vector<TaskGraph>> programs_under(const FitRequest& request,
                                                     const Change& change) {
  const Machine& machine = request.live.machinery().machine;
  try {
    if (change.devices == static_cast<std::int64_t>(machine.devices.size()))
      return request.live.plan_training(request.model, request.config, change.strategy, machine);
    RunConfig wider = request.config;
    wider.parallel.devices = change.devices;
    if (wider.parallel.plan.name == "single") wider.parallel.plan.name = "data";
    Machine more = machine;
    more.devices.resize(static_cast<std::size_t>(change.devices), machine.devices.front());
    Strategy strategy = choose_strategy(wider, request.model, more);
    return request.live.plan_training(request.model, request.config, strategy, more);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string find_advice(const FitRequest& request, Bytes limit) {
  for (const Change& change : possible_changes(request)) {
    std::optional<std::vector<TaskGraph>> programs = programs_under(request, change);
    if (!programs) continue;
    Bytes needed = most_needed(*programs);
    if (needed <= limit)
      return fmt::format("the cheapest change that would fit: {} ({} per device)", change.advice,
                         to_string(needed));
  }
  return "neither a sliced update nor micro-batches nor eight times the devices would fit; take a "
         "smaller batch or model";
}

std::string table_of(const FitRequest& request, DeviceId device) {
  std::string text;
  MemoryTable memory = memory_of(*request.live.programs().at(0), device);
  for (const auto& [category, bytes] : memory.categories)
    text += fmt::format("\n  {:<12} {:>10}", to_string(category), to_string(bytes));
  return text + fmt::format("\n  {:<12} at '{}'", "fullest", memory.peak_task);
}

}  // namespace

Bytes memory_needed(const std::vector<const TaskGraph*>& programs, DeviceId device) {
  std::set<std::string> seen;
  Bytes state, arena;
  for (const TaskGraph* program : programs) {
    arena = std::max(arena, program->arena.at(device.index()));
    for (const BufferSpec& buffer : program->buffers)
      if (buffer.persistent && buffer.device == device && seen.insert(buffer.name).second)
        state += buffer.bytes();
  }
  return state + arena;
}

std::optional<Shortage> find_shortage(const std::vector<const TaskGraph*>& programs,
                                      const Machine& machine) {
  std::optional<Shortage> worst;
  for (std::size_t at = 0; at < machine.devices.size(); ++at) {
    Bytes there = machine.devices[at].memory, needed = memory_needed(programs, DeviceId(at));
    if (there == Bytes{} || needed <= there) continue;
    if (!worst || needed - there > worst->needed - worst->there)
      worst = Shortage{DeviceId(at), needed, there};
  }
  return worst;
}

void require_fit(const FitRequest& request) {
  std::optional<Shortage> shortage = find_shortage(request.live.programs(), request.live.machinery().machine);
  if (!shortage) return;
  throw Error(ErrorKind::memory,
              fmt::format("device {} would hold {}, but it has {}:{}\n{}",
                          shortage->device.value, to_string(shortage->needed),
                          to_string(shortage->there), table_of(request, shortage->device),
                          find_advice(request, shortage->there)));
}

}  // namespace troika
