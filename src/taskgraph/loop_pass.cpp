#include "taskgraph/loop_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace troika {
std::vector<std::int32_t> messages_of(const TaskGraph& graph) {
  std::vector<std::int32_t> messages;
  for (const Task& task : graph.tasks) messages.push_back(task.communication.value);
  return messages;
}

std::vector<std::int32_t> messages_of(const TaskGraph& graph, const FoldedGraph& folded) {
  std::map<FoldedCall, std::int32_t> numbers;
  std::unordered_map<std::uint64_t, std::int32_t> message_of;  // by task
  for (const std::vector<FoldedTask>& tasks : folded.tasks) {
    for (const FoldedTask& task : tasks) {
      if (task.kind == TaskKind::compute) continue;
      auto next = static_cast<std::int32_t>(numbers.size());
      message_of[task.id.bits] = numbers.try_emplace(task.call, next).first->second;
    }
  }
  std::vector<std::int32_t> messages(graph.tasks.size(), -1);
  for (std::size_t at = 0; at < messages.size(); ++at)
    if (auto found = message_of.find(packed_id(graph.tasks[at].id).bits); found != message_of.end())
      messages[at] = found->second;
  return messages;
}

std::size_t message_count(const std::vector<std::int32_t>& messages) {
  return messages.empty() ? 0 : as_index(std::ranges::max(messages) + 1);
}

LoopPass pass_of(const TaskGraph& graph, const Timeline& timeline, SimTime period,
                 std::vector<std::int32_t> messages) {
  std::unordered_map<std::uint64_t, std::size_t> task_at;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at)
    task_at[packed_id(graph.tasks[at].id).bits] = at;
  std::vector<std::size_t> places(graph.tasks.size());  // of equal times, the order of the loop
  std::vector<std::size_t> order = loop_order(graph);
  for (std::size_t place = 0; place < order.size(); ++place) places[order[place]] = place;
  std::map<DeviceId, std::vector<RanTask>> rows;
  for (const Span& span : timeline.spans)
    if (auto found = task_at.find(packed_id(span.task).bits); found != task_at.end())
      rows[span.device].push_back({found->second, span.start, span.end});
  LoopPass pass{.period = period, .messages = std::move(messages)};
  for (auto& [device, tasks] : rows) {
    std::ranges::sort(tasks, {}, [&](const RanTask& task) {
      return std::tuple(task.start, task.end, places[task.task]);
    });
    pass.rows.push_back({device, std::move(tasks)});
  }
  return pass;
}

std::string kind_of(const TaskGraph& graph, const Task& task) {
  if (task.computes()) return fmt::format("{} {}", name_of(task.key.op), to_string(task.key.phase));
  return fmt::format("{}{}", to_string(graph[task.communication].call.kind),
                     task.kind == TaskKind::start ? " start" : "");
}

}  // namespace troika
