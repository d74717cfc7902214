#include "lower/choose_algorithms.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "cost/predict_time.h"

namespace troika {
namespace {

/// Which members are at the same place, whichever place that is.
void add_pattern(TableKey& key, const std::vector<int>& places) {
  std::unordered_map<int, std::int64_t> numbers;
  std::int64_t last = -1;
  for (std::size_t at = 0; at < places.size(); ++at) {
    // Members of a place mostly stand together.
    if (at == 0 || places[at] != places[at - 1])
      last = numbers.try_emplace(places[at], std::ssize(numbers)).first->second;
    key.push_back(last);
  }
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
               static_cast<int>(call.order), has_equal_parts(call)};
  add_pattern(key, call.nodes);
  add_pattern(key, call.processes);
  auto [choice, is_new] = known_.try_emplace(std::move(key));
  if (is_new)
    choice->second =
        choose_algorithm(call, size_of(dtype), links_,
                         call.kind == Collective::all_reduce ? ranges_ : AlgorithmRanges{});
  return choice->second;
}

void complete_call(CollectiveCall& call, DType dtype, Bytes buffer, const Machine& machine,
                   std::span<const DeviceId> devices) {
  call.count = buffer.count / size_of(dtype).count / vectors_in_buffer(call.kind);
  call.nodes.clear();
  call.processes.clear();
  for (DeviceId device : devices) {
    call.nodes.push_back(machine[device].node);
    call.processes.push_back(machine[device].rank);
  }
}

bool is_moved_by_devices(const CollectiveCall& call) {
  return std::ranges::adjacent_find(call.nodes, std::ranges::not_equal_to{}) == call.nodes.end();
}

void choose_algorithms(TaskGraph& graph, const CommunicationChoices& choices) {
  AlgorithmTable known(choices);
  for (Communication& communication : graph.communications) {
    complete_call(communication.call, communication.dtype,
                  graph[communication.any_buffer()].bytes(), choices.machine,
                  communication.devices);
    const AlgorithmChoice& choice = known.choose(communication.call, communication.dtype);
    communication.algorithm = choice.algorithm;
    communication.call.segment = choice.segment;
    communication.time = choice.time;
    communication.by_devices = is_moved_by_devices(communication.call);
  }
}

}  // namespace troika
