#include "sim/busy_neighbours.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace troika {
namespace {

/// A lane begins or ends to compute.
struct Change {
  SimTime time;
  std::int32_t lane;
  bool begins;

  /// Ends come first, so that a lane is never counted twice.
  auto key() const { return std::pair(time, begins); }
};

/// The time from 0 to the period in which a task of the steady loop runs, in two pieces if it runs
/// beyond the end.
void add_changes(const BusyTime& busy, SimTime period, std::vector<Change>& changes) {
  SimTime begin{busy.start.count % period.count};
  SimTime end = begin + (busy.end - busy.start);
  auto add = [&](SimTime from, SimTime to) {
    changes.push_back({from, busy.lane, true});
    changes.push_back({to, busy.lane, false});
  };
  add(begin, std::min(end, period));
  if (end > period) add({}, end - period);
}

/// Walks through the changes of one computer in their order.
class BusySweep {
 public:
  explicit BusySweep(const std::map<std::int32_t, double>& devices) : devices_(devices) {}

  void run(std::vector<Change> changes) {
    std::ranges::stable_sort(changes, {}, &Change::key);
    SimTime before{};
    for (const Change& change : changes) {
      pass(change.time - before);
      before = change.time;
      if (change.begins)
        active_.push_back(change.lane);
      else
        active_.erase(std::ranges::find(active_, change.lane));
    }
  }
  /// 1 for a lane that was never busy.
  double mean(std::int32_t lane) const {
    auto found = busy_.find(lane);
    return found == busy_.end() ? 1 : beside_.at(lane) / found->second;
  }

 private:
  void pass(SimTime time) {
    auto length = static_cast<double>(time.count);
    if (length == 0) return;
    double devices = 0;
    for (std::int32_t lane : active_) devices += devices_.at(lane);
    for (std::int32_t lane : active_) {
      busy_[lane] += length;
      beside_[lane] += length * devices;
    }
  }

  const std::map<std::int32_t, double>& devices_;
  std::map<std::int32_t, double> busy_;    // how long it computes
  std::map<std::int32_t, double> beside_;  // the same times the devices that do so
  std::vector<std::int32_t> active_;
};

/// By lane: how kernels of a busy time change.
using ChangeTime = std::function<SimTime(SimTime time, Bytes bytes, std::int32_t lane)>;

ChangeTime change_of(const TimedBeside& timed, std::vector<double> busy) {
  return [&timed, busy = std::move(busy)](SimTime time, Bytes bytes, std::int32_t lane) {
    return reoccupied(time, bytes, timed.rates, timed.occupancy, busy[as_index(lane)]);
  };
}

}  // namespace

LaneComputers lane_computers(const std::vector<int>& computers) {
  LaneComputers made;
  for (int computer : computers) {
    if (computer >= std::ssize(made.lanes)) made.lanes.resize(as_index(computer) + 1);
    made.lanes[as_index(computer)][static_cast<std::int32_t>(made.of_lane.size())] = 1;
    made.of_lane.push_back(computer);
  }
  return made;
}

LaneComputers lane_computers(const std::vector<int>& computers, const Classes& classes) {
  LaneComputers made;
  for (std::int32_t first : classes.first) made.of_lane.push_back(computers[as_index(first)]);
  made.lanes.resize(as_index(std::ranges::max(made.of_lane)) + 1);
  for (std::size_t device = 0; device < computers.size(); ++device)
    if (computers[device] < std::ssize(made.lanes))
      ++made.lanes[as_index(computers[device])][classes.of_device[device]];
  return made;
}

std::vector<double> busy_neighbours(const std::vector<BusyTime>& times, SimTime period,
                                    const LaneComputers& computers) {
  std::vector<double> means(computers.of_lane.size(), 1);
  if (period == SimTime{}) return means;
  std::vector<std::vector<Change>> by_lane(means.size());
  for (const BusyTime& busy : times)
    if (busy.end > busy.start) add_changes(busy, period, by_lane[as_index(busy.lane)]);
  for (std::size_t computer = 0; computer < computers.lanes.size(); ++computer) {
    std::vector<Change> changes;
    for (const auto& [lane, devices] : computers.lanes[computer])
      changes.insert(changes.end(), by_lane[as_index(lane)].begin(), by_lane[as_index(lane)].end());
    BusySweep sweep(computers.lanes[computer]);
    sweep.run(std::move(changes));
    for (std::size_t lane = 0; lane < means.size(); ++lane)
      if (as_index(computers.of_lane[lane]) == computer)
        means[lane] = sweep.mean(static_cast<std::int32_t>(lane));
  }
  return means;
}

SteadyLoop simulate_beside(TaskGraph& graph, const TimedBeside& timed) {
  SteadyLoop loop = simulate_loop(graph);
  if (timed.occupancy.devices == 1) return loop;
  std::vector<BusyTime> times;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at)
    if (graph.tasks[at].computes())
      times.push_back(
          {graph.tasks[at].device.value, loop.pass.spans[at].start, loop.pass.spans[at].end});
  ChangeTime change =
      change_of(timed, busy_neighbours(times, loop.period, lane_computers(timed.computers)));
  for (Task& task : graph.tasks)
    if (task.computes())
      task.choice.time = change(task.choice.time, bytes_of(task.key), task.device.value);
  return simulate_loop(graph);
}

SteadyLoop simulate_beside(FoldedGraph& graph, TaskGraph& tasks, const TimedBeside& timed) {
  SteadyLoop loop = simulate_loop(graph);
  if (timed.occupancy.devices == 1) return loop;
  std::map<std::pair<std::int32_t, std::int32_t>, Bytes> bytes;  // by the halves of an id
  for (const Task& task : tasks.tasks)
    if (task.computes()) bytes[{task.id.fragment, task.id.index}] = bytes_of(task.key);
  std::vector<BusyTime> times;
  std::size_t span = 0;
  for (std::int32_t lane = 0; lane < graph.classes.count(); ++lane)
    for (const FoldedTask& task : graph.tasks[as_index(lane)]) {
      const Span& ran = loop.pass.spans[span++];
      if (task.kind == TaskKind::compute) times.push_back({lane, ran.start, ran.end});
    }
  ChangeTime change = change_of(
      timed, busy_neighbours(times, loop.period, lane_computers(timed.computers, graph.classes)));
  for (std::int32_t lane = 0; lane < graph.classes.count(); ++lane)
    for (FoldedTask& task : graph.tasks[as_index(lane)]) {
      if (task.kind != TaskKind::compute) continue;
      TaskId id = task_id(task.id);
      task.time = change(task.time, bytes.at({id.fragment, id.index}), lane);
    }
  for (Task& task : tasks.tasks)
    if (task.computes())
      task.choice.time = change(task.choice.time, bytes_of(task.key),
                                graph.classes.of_device[task.device.index()]);
  return simulate_loop(graph);
}

}  // namespace troika
