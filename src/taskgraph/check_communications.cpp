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

std::size_t count_held(const Communication& communication) {
  return static_cast<std::size_t>(std::ranges::count_if(communication.buffers, &BufferId::valid));
}

/// Runs passes of the loop on all devices of the graph, one task after the other in one order.
class MessageReplay {
 public:
  explicit MessageReplay(const TaskGraph& graph)
      : graph_(graph),
        passes_apart_(static_cast<std::size_t>(largest_lag(graph)) + 1),
        started_(graph.communications.size() * passes_apart_),
        last_step_(graph.tasks.size(), -1),
        held_(graph.buffers.size()) {
    for (const Communication& communication : graph.communications)
      members_.push_back(count_held(communication));
  }

  void run_pass(const std::vector<std::size_t>& order, int pass) {
    for (std::size_t at : order) {
      const Task& task = graph_.tasks[at];
      int step = pass - task.lag;
      if (step < 0) continue;
      if (task.kind == TaskKind::finish) finish(task, step);
      check_untouched(task);
      if (task.kind != TaskKind::start) continue;
      start(task, step);
      last_step_[at] = step;
    }
  }

 private:
  /// How many members have started a communication, in the round of that step.
  struct Round {
    int step = -1;
    std::size_t members = 0;
  };

  Round& round_of(const Task& task, int step) {
    std::size_t at = static_cast<std::size_t>(step) % passes_apart_;
    Round& round = started_[task.communication.index() * passes_apart_ + at];
    if (round.step != step) round = {.step = step};
    return round;
  }

  void start(const Task& task, int step) {
    ++round_of(task, step).members;
    held_[graph_.root(task.uses[0].buffer).index()].push_back(&task);
  }

  void finish(const Task& task, int step) {
    if (round_of(task, step).members < members_[task.communication.index()])
      refuse_to_wait(task, step);
    std::erase_if(held_[graph_.root(task.uses[0].buffer).index()],
                  [&](const Task* start) { return is_own(*start, task); });
  }

  static bool is_own(const Task& start, const Task& task) {
    return start.communication == task.communication && start.member == task.member;
  }

  [[noreturn]] void refuse_to_wait(const Task& task, int step) const {
    std::size_t missing = 0;
    while (graph_.tasks[missing].kind != TaskKind::start ||
           graph_.tasks[missing].communication != task.communication || last_step_[missing] >= step)
      ++missing;
    const Task& start = graph_.tasks[missing];
    throw Bug(
        fmt::format("'{}' on device {} with lag {} waits for '{}' before device {} starts it "
                    "by '{}' with lag {}",
                    task.name, task.device.value, task.lag, graph_[task.communication].name,
                    start.device.value, start.name, start.lag));
  }

  /// No task touches what a communication has, unless both only read it.
  void check_untouched(const Task& task) const {
    for (const BufferUse& use : task.uses)
      for (const Task* start : held_[graph_.root(use.buffer).index()]) {
        TROIKA_CHECK(task.kind != TaskKind::start || !is_own(*start, task),
                     fmt::format("'{}' starts again before it has finished", task.name));
        bool both_read = use.access == Access::read && start->uses[0].access == Access::read;
        TROIKA_CHECK(both_read, fmt::format("'{}' touches '{}' while '{}' has it", task.name,
                                            graph_[use.buffer].name, start->name));
      }
  }

  const TaskGraph& graph_;
  const std::size_t passes_apart_;    // rounds of a communication that may be under way
  std::vector<std::size_t> members_;  // by communication: those on the graph's devices
  std::vector<Round> started_;        // by communication and step
  std::vector<int> last_step_;        // by task: of a start, the step that it has started last
  std::vector<std::vector<const Task*>> held_;  // by root: the starts
};

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

/// Each member on a device of the graph has a buffer there, and no other member has.
void check_members(const TaskGraph& graph, const Communication& communication) {
  TROIKA_CHECK(communication.devices.size() == communication.buffers.size() &&
                   communication.call.members == static_cast<int>(communication.devices.size()),
               fmt::format("'{}' has not one buffer per member", communication.name));
  Bytes length = graph[communication.any_buffer()].bytes();
  for (std::size_t member = 0; member < communication.devices.size(); ++member) {
    BufferId buffer = communication.buffers[member];
    TROIKA_CHECK(buffer.valid() == graph.holds(communication.devices[member]),
                 fmt::format("a member of '{}' and the graph disagree about its device {}",
                             communication.name, communication.devices[member].value));
    TROIKA_CHECK(
        !buffer.valid() || graph[buffer].bytes() == length,
        fmt::format("members of '{}' have buffers of different lengths", communication.name));
  }
}

/// Devices number their messages in the order of the ids.
void check_call_ids(const TaskGraph& graph) {
  std::vector<CollectiveId> ids;
  for (const Communication& communication : graph.communications)
    if (communication.id != CollectiveId{}) ids.push_back(communication.id);
  std::ranges::sort(ids);
  TROIKA_CHECK(std::ranges::adjacent_find(ids) == ids.end(), "two communications have one id");
}

}  // namespace

void check_communications(const TaskGraph& graph, const std::vector<std::size_t>& order) {
  check_call_ids(graph);
  std::vector<std::vector<MemberTasks>> members;
  for (const Communication& communication : graph.communications) {
    check_members(graph, communication);
    check_ranges(communication);
    members.emplace_back(communication.devices.size());
  }
  for (std::size_t at = 0; at < graph.tasks.size(); ++at)
    if (!graph.tasks[at].computes()) note_member(graph, at, members);
  for (std::size_t at = 0; at < members.size(); ++at) {
    const std::string& name = graph.communications[at].name;
    std::size_t last_start = 0, first_finish = graph.tasks.size();
    for (std::size_t member = 0; member < members[at].size(); ++member) {
      if (!graph.communications[at].buffers[member].valid()) continue;
      const MemberTasks& tasks = members[at][member];
      TROIKA_CHECK(tasks.start && tasks.finish, fmt::format("a member of '{}' is missing", name));
      last_start = std::max(last_start, *tasks.start);
      first_finish = std::min(first_finish, *tasks.finish);
    }
    // So that the devices, each going through its tasks in order, cannot wait for each other.
    TROIKA_CHECK(last_start < first_finish,
                 fmt::format("a member waits for '{}' before another one starts it", name));
  }
  // In the pass after the one in which the last of them begins, all lags meet each other.
  MessageReplay replay(graph);
  int lag = largest_lag(graph);
  for (int pass = 0; pass <= (lag == 0 ? 0 : lag + 1); ++pass) replay.run_pass(order, pass);
}

}  // namespace troika
