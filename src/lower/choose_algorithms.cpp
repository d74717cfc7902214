#include "lower/choose_algorithms.h"

#include <map>
#include <tuple>

#include "base/error.h"
#include "cost/choose_algorithm.h"
#include "cost/predict_time.h"

namespace troika {

std::optional<std::string> why_no_algorithms(const Sync& sync) {
  if (sync.algorithms.empty()) return std::nullopt;
  try {
    (void)parse_algorithm_ranges(sync.algorithms, Collective::all_reduce);
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

void choose_algorithms(TaskGraph& graph, const CommunicationChoices& choices) {
  // The strategy's ranges are for what is reduced; other collectives go by cost.
  AlgorithmRanges ranges;
  if (!choices.sync.algorithms.empty())
    ranges = parse_algorithm_ranges(choices.sync.algorithms, Collective::all_reduce);
  using Key =
      std::tuple<Collective, std::vector<int>, std::vector<int>, std::int64_t, DType, int, bool>;
  std::map<Key, AlgorithmChoice> known;
  for (Communication& communication : graph.communications) {
    CollectiveCall& call = communication.call;
    const BufferSpec& buffer = graph[communication.buffers[0]];
    call.count =
        buffer.bytes().count / size_of(communication.dtype).count / vectors_in_buffer(call.kind);
    call.nodes.clear();
    call.processes.clear();
    for (DeviceId device : communication.devices) {
      call.nodes.push_back(choices.machine[device].node);
      call.processes.push_back(choices.machine[device].rank);
    }
    Key key{call.kind,
            call.nodes,
            call.processes,
            call.count,
            communication.dtype,
            static_cast<int>(call.order),
            has_equal_parts(call)};
    auto [choice, is_new] = known.try_emplace(key);
    if (is_new)
      choice->second =
          choose_algorithm(call, size_of(communication.dtype), choices.links,
                           call.kind == Collective::all_reduce ? ranges : AlgorithmRanges{});
    communication.algorithm = choice->second.algorithm;
    communication.call.segment = choice->second.segment;
    communication.time = choice->second.time;
  }
}

}  // namespace troika
