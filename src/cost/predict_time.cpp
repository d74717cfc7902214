#include "cost/predict_time.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "cost/formulas.h"

namespace troika {
namespace {

/// The link that any two members have between them, if it is the same for all.
std::optional<LinkKind> only_link(const CollectiveCall& call) {
  LinkKind kind = link_between(call, 0, 1);
  if (call.nodes.empty() && call.processes.empty()) return kind;
  for (int a = 0; a < call.members; ++a) {
    for (int b = a + 1; b < call.members; ++b) {
      if (link_between(call, a, b) != kind) return std::nullopt;
    }
  }
  return kind;
}

/// Returns the times measured for such a call, or null. Calls were timed with equal parts, without
/// segments and in any order; the times hold for the tree order as well, except those of
/// reduce_scatter, whose algorithms send other messages then.
const SizeCurve* find_measured(const CollectiveCall& call, std::string_view algorithm,
                               const LinkCosts& costs) {
  bool is_plain = call.members > 1 && call.segment == 0 && has_equal_parts(call) &&
                  (call.count > 0 || call.kind == Collective::barrier) &&
                  (call.order == CombineOrder::any || call.kind != Collective::reduce_scatter);
  if (!is_plain) return nullptr;
  std::optional<LinkKind> link;  // found out only where there are rows for so many members
  for (const MeasuredAlgorithm& row : costs.measured) {
    if (row.kind != call.kind || row.members != call.members || row.algorithm != algorithm)
      continue;
    if (!link && !(link = only_link(call))) return nullptr;
    if (row.link == *link && !row.times.empty()) return &row.times;
  }
  return nullptr;
}

/// Measured by bench/executor_bench on several processors: 25 to 90 ns, 70 to 140 ns for the start
/// and the finish of a message together, and 41 us to wake the threads of the devices and the host.
constexpr SimTime kTask{50}, kMessageEnd{50}, kHandingOver{40'000};

}  // namespace

bool has_equal_parts(const CollectiveCall& call) {
  // No range may be longer than the longest of nearly equal parts.
  std::int64_t part = (call.count + call.members - 1) / call.members;
  return std::ranges::all_of(call.ranges, [&](Range range) { return range.extent() <= part; });
}

std::optional<SimTime> measured_time(const CollectiveCall& call, std::string_view algorithm,
                                     Bytes element, const LinkCosts& costs) {
  const SizeCurve* times = find_measured(call, algorithm, costs);
  if (times == nullptr) return std::nullopt;
  return SimTime{std::llround(times->at(element * call.count))};
}

PredictedTime predict_time(const CollectiveCall& call, std::string_view algorithm, Bytes element,
                           const LinkCosts& costs) {
  if (auto time = measured_time(call, algorithm, element, costs)) return {*time, true};
  return {formula_time(call, algorithm, element, costs), false};
}

RuntimeCosts runtime_costs(const std::vector<ProcessInputs>& processes, const MemoryCost& memory) {
  RuntimeCosts made{.task = kTask, .message_end = kMessageEnd};
  for (const ProcessInputs& process : processes)
    made.processes.push_back({process.lanes, kHandingOver + copy_time(memory, process.bytes)});
  return made;
}

TaskGraph retime(TaskGraph graph, const Machine& machine) {
  for (Task& task : graph.tasks) {
    if (!task.computes()) continue;
    const DeviceSpec& device = machine[task.device];
    task.choice.time =
        time_on(device, roofline_time(device, flops_of(task.key), bytes_of(task.key)));
  }
  return graph;
}

}  // namespace troika
