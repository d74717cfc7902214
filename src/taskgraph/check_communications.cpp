#include "taskgraph/check_communications.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace troika {
namespace {

/// Where the tasks of one member of a communication stand.
struct MemberTasks {
  std::optional<std::size_t> start, finish;
};

void note_member(const TaskGraph& graph, std::size_t at,
                 std::vector<std::vector<MemberTasks>>& members) {
  const Task& task = graph.tasks[at];
  const Communication& communication = graph[task.communication];
  auto member = static_cast<std::size_t>(task.member);
  MemberTasks& tasks = members[task.communication.index()][member];
  std::optional<std::size_t>& place = task.kind == TaskKind::start ? tasks.start : tasks.finish;
  TROIKA_CHECK(!place, fmt::format("'{}' is there twice", task.name));
  place = at;
  TROIKA_CHECK(task.device == communication.devices[member] && task.uses.size() == 1 &&
                   task.uses[0].buffer == communication.buffers[member] &&
                   graph[task.uses[0].buffer].device == task.device,
               fmt::format("'{}' is not its member's", task.name));
}

/// No task touches what a communication has, unless both only read it.
void check_untouched(const TaskGraph& graph) {
  std::vector<std::vector<const Task*>> held(graph.buffers.size());  // by root: the starts
  for (const Task& task : graph.tasks) {
    auto is_own = [&](const Task* start) {
      return start->communication == task.communication && start->member == task.member;
    };
    for (const BufferUse& use : task.uses) {
      std::vector<const Task*>& holders = held[graph.root(use.buffer).index()];
      if (task.kind == TaskKind::finish) std::erase_if(holders, is_own);
      for (const Task* start : holders) {
        bool both_read = use.access == Access::read && start->uses[0].access == Access::read;
        TROIKA_CHECK(both_read, fmt::format("'{}' touches '{}' while '{}' has it", task.name,
                                            graph[use.buffer].name, start->name));
      }
      if (task.kind == TaskKind::start) holders.push_back(&task);
    }
  }
}

/// What is gathered, scattered or exchanged is all of the vector, each element by one member.
void check_ranges(const Communication& communication) {
  const CollectiveCall& call = communication.call;
  if (call.kind != Collective::all_gather && call.kind != Collective::reduce_scatter &&
      call.kind != Collective::all_to_all)
    return;
  std::vector<Range> ranges = call.ranges;
  std::ranges::sort(ranges, {}, [](Range range) { return std::pair(range.begin, range.end); });
  std::int64_t next = 0;
  for (Range range : ranges) {
    TROIKA_CHECK(range.empty() || range.begin == next,
                 fmt::format("the ranges of '{}' do not meet at {}", communication.name, next));
    next = std::max(next, range.end);
  }
  TROIKA_CHECK(next == call.count, fmt::format("the ranges of '{}' end at {} of {}",
                                               communication.name, next, call.count));
}

}  // namespace

void check_communications(const TaskGraph& graph) {
  std::vector<std::vector<MemberTasks>> members;
  for (const Communication& communication : graph.communications) {
    TROIKA_CHECK(communication.devices.size() == communication.buffers.size() &&
                     communication.call.members == static_cast<int>(communication.devices.size()),
                 fmt::format("'{}' has not one buffer per member", communication.name));
    check_ranges(communication);
    members.emplace_back(communication.devices.size());
  }
  for (std::size_t at = 0; at < graph.tasks.size(); ++at)
    if (!graph.tasks[at].computes()) note_member(graph, at, members);
  for (std::size_t at = 0; at < members.size(); ++at) {
    const std::string& name = graph.communications[at].name;
    std::size_t last_start = 0, first_finish = graph.tasks.size();
    for (const MemberTasks& tasks : members[at]) {
      TROIKA_CHECK(tasks.start && tasks.finish, fmt::format("a member of '{}' is missing", name));
      last_start = std::max(last_start, *tasks.start);
      first_finish = std::min(first_finish, *tasks.finish);
    }
    // So that the devices, each going through its tasks in order, cannot wait for each other.
    TROIKA_CHECK(last_start < first_finish,
                 fmt::format("a member waits for '{}' before another one starts it", name));
  }
  check_untouched(graph);
}

}  // namespace troika
