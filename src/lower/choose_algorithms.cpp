#include "lower/choose_algorithms.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "cost/predict_time.h"

namespace troika {
namespace {

/// Only the longest range decides about the collectives of a plan (phase_list.h). It
/// also says whether the parts are nearly equal, as measured times ask.
std::int64_t longest_part(const CollectiveCall& call) {
  std::int64_t longest = 0;
  for (Range range : call.ranges) longest = std::max(longest, range.extent());
  return longest;
}

/// Which members are at the same place, whichever place that is: runs of members at one place, or
/// each at the next one, with the number of their first place and their length.
void add_pattern(TableKey& key, const std::vector<int>& places) {
  if (places.empty()) return;
  std::vector<std::int64_t> numbers(as_index(std::ranges::max(places)) + 1, -1);
  std::int64_t count = 0;
  auto number = [&](std::size_t at) {
    std::int64_t& known = numbers[as_index(places[at])];
    if (known < 0) known = count++;
    return known;
  };
  for (std::size_t at = 0; at < places.size();) {
    std::size_t begin = at++;
    std::int64_t first = number(begin), last = first, step = 0;
    for (; at < places.size(); ++at) {
      std::int64_t next = number(at);
      if (at == begin + 1) step = next - first;
      if (step < 0 || step > 1 || next - last != step) break;
      last = next;
    }
    key.insert(key.end(), {first, last, static_cast<std::int64_t>(at - begin)});
  }
  key.push_back(-1);
}

/// On all links.
SharedPhases occupied_by(const Communication& communication, PhaseMaker& maker,
                         const AlgorithmChoice& choice) {
  if (maker.is_moved_by_devices(communication.call))
    return SharedPhases(std::make_shared<const MessagePhases>(work_phases(choice.time)));
  std::vector<std::int32_t> devices;
  for (DeviceId device : communication.devices) devices.push_back(device.value);
  Placement& placement = maker.place(communication.call, devices);
  return SharedPhases(std::make_shared<const MessagePhases>(
      phases_on_links(maker.make(placement, communication.call, communication.dtype, choice),
                      all_links(placement))));
}

/// Requires a graph of all devices.
RuntimeCosts runtime_costs_of(const TaskGraph& graph, const CommunicationChoices& choices) {
  std::vector<ProcessInputs> processes;
  for (const std::vector<DeviceId>& devices : devices_by_rank(choices.machine)) {
    processes.emplace_back();
    for (DeviceId device : devices) processes.back().lanes.push_back(device.value);
  }
  for (const auto& [name, buffer] : graph.inputs)
    processes[as_index(choices.machine[graph[buffer].device].rank)].bytes += graph[buffer].bytes();
  RuntimeCosts costs = runtime_costs(processes, choices.links.memory);
  costs.moves_beside = choices.machine.moves_beside;
  return costs;
}

}  // namespace

std::optional<std::string> why_no_algorithms(const Sync& sync) {
  if (sync.algorithms.empty()) return std::nullopt;
  try {
    (void)parse_algorithm_ranges(sync.algorithms, Collective::all_reduce);
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

AlgorithmTable::AlgorithmTable(const CommunicationChoices& choices) : links_(choices.links) {
  if (!choices.sync.algorithms.empty())
    ranges_ = parse_algorithm_ranges(choices.sync.algorithms, Collective::all_reduce);
}

const AlgorithmChoice& AlgorithmTable::choose(const CollectiveCall& call, DType dtype) {
  TableKey key{static_cast<int>(call.kind), call.count, static_cast<int>(dtype),
               static_cast<int>(call.order), longest_part(call)};
  add_pattern(key, call.nodes);
  add_pattern(key, call.processes);
  if (auto known = known_.find(key); known != known_.end()) return known->second;
  // Entered only once it is known: the strategy may ask for an algorithm that cannot do this call.
  AlgorithmChoice made =
      choose_algorithm(call, size_of(dtype), links_,
                       call.kind == Collective::all_reduce ? ranges_ : AlgorithmRanges{});
  return known_.emplace(std::move(key), std::move(made)).first->second;
}

void complete_call(CollectiveCall& call, DType dtype, Bytes buffer, const Machine& machine,
                   std::span<const DeviceId> devices) {
  call.count = buffer.count / size_of(dtype).count / vectors_in_buffer(call.kind);
  call.nodes.clear();
  call.processes.clear();
  for (DeviceId device : devices) {
    call.nodes.push_back(machine[device].node);
    // Links that are listed join devices, even those of one process: memory is not shared.
    call.processes.push_back(machine.links.empty() ? machine[device].rank : device.value);
  }
}

bool is_measured(const AlgorithmChoice& choice) {
  return std::ranges::any_of(choice.alternatives, [&](const Alternative& alternative) {
    return alternative.algorithm == choice.algorithm && alternative.is_measured;
  });
}

PhaseMaker::PhaseMaker(const Network& network, const LinkCosts& links)
    : network_(network), links_(links), placements_(network) {}

bool PhaseMaker::is_moved_by_devices(const CollectiveCall& call) const {
  auto is_other = std::ranges::not_equal_to{};
  return !network_.has_links_in_nodes() &&
         std::ranges::adjacent_find(call.nodes, is_other) == call.nodes.end();
}

Placement& PhaseMaker::place(const CollectiveCall& call, std::span<const std::int32_t> devices) {
  return placements_.of(devices, is_rooted(call.kind));
}

MessagePhases PhaseMaker::make(Placement& placement, CollectiveCall call, DType dtype,
                               const AlgorithmChoice& choice) {
  call.segment = choice.segment;
  return phases_on_groups({network_, links_, placements_}, placement,
                          {call, choice.algorithm, size_of(dtype),
                           is_measured(choice) ? std::optional(choice.time) : std::nullopt});
}

void choose_algorithms(TaskGraph& graph, const CommunicationChoices& choices) {
  AlgorithmTable known(choices);
  // A rank has tasks of its own devices only, which cannot be simulated.
  std::optional<Network> network;
  if (graph.devices.empty()) network.emplace(choices.machine, choices.links);
  std::optional<PhaseMaker> phases;
  if (network) phases.emplace(*network, choices.links);
  if (network) graph.links = network->links();
  if (network) graph.runtime = runtime_costs_of(graph, choices);
  for (Communication& communication : graph.communications) {
    complete_call(communication.call, communication.dtype,
                  graph[communication.any_buffer()].bytes(), choices.machine,
                  communication.devices);
    const AlgorithmChoice& choice = known.choose(communication.call, communication.dtype);
    communication.algorithm = choice.algorithm;
    communication.time = choice.time;
    if (phases) communication.phases = occupied_by(communication, *phases, choice);
    communication.call.segment = choice.segment;
  }
}

}  // namespace troika
