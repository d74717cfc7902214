#include "sim/busy_neighbours.h"

#include <algorithm>
#include <map>

namespace troika {
namespace {

/// A device begins or ends to compute.
struct Change {
  SimTime time;
  std::size_t device;
  bool begins;

  /// Ends come first, so that a device is never counted twice.
  auto key() const { return std::pair(time, begins); }
};

/// The time from 0 to the period in which a task of the steady loop runs, in two pieces if it runs
/// beyond the end.
void add_changes(const Span& span, SimTime period, std::vector<Change>& changes) {
  std::size_t device = span.device.index();
  SimTime begin{span.start.count % period.count};
  SimTime end = begin + (span.end - span.start);
  auto add = [&](SimTime from, SimTime to) {
    changes.push_back({from, device, true});
    changes.push_back({to, device, false});
  };
  add(begin, std::min(end, period));
  if (end > period) add({}, end - period);
}

/// Walks through the changes of one computer in their order.
class BusySweep {
 public:
  explicit BusySweep(std::vector<double>& means) : means_(means), busy_(means.size()) {}

  void run(std::vector<Change> changes) {
    std::ranges::sort(changes, {}, &Change::key);
    SimTime before{};
    for (const Change& change : changes) {
      pass(change.time - before);
      before = change.time;
      if (change.begins)
        active_.push_back(change.device);
      else
        active_.erase(std::ranges::find(active_, change.device));
    }
    for (auto& [device, time] : beside_) means_[device] = time / busy_[device];
  }

 private:
  void pass(SimTime time) {
    auto length = static_cast<double>(time.count);
    if (length == 0) return;
    for (std::size_t device : active_) {
      busy_[device] += length;
      beside_[device] += length * static_cast<double>(active_.size());
    }
  }

  std::vector<double>& means_;
  std::vector<double> busy_;              // by device: how long it computes
  std::map<std::size_t, double> beside_;  // the same times the devices that do so
  std::vector<std::size_t> active_;
};

}  // namespace

std::vector<double> busy_neighbours(const TaskGraph& graph, const SteadyLoop& loop,
                                    const std::vector<int>& computers) {
  std::vector<double> means(computers.size(), 1);
  if (loop.period == SimTime{}) return means;
  std::map<int, std::vector<Change>> changes;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    const Task& task = graph.tasks[at];
    const Span& span = loop.pass.spans[at];
    if (task.computes() && span.end > span.start)
      add_changes(span, loop.period, changes[computers[task.device.index()]]);
  }
  for (auto& [computer, list] : changes) BusySweep(means).run(std::move(list));
  return means;
}

SteadyLoop simulate_beside(TaskGraph& graph, const TimedBeside& timed) {
  SteadyLoop loop = simulate_loop(graph);
  if (timed.occupancy.devices == 1) return loop;
  std::vector<double> busy = busy_neighbours(graph, loop, timed.computers);
  for (Task& task : graph.tasks)
    if (task.computes())
      task.choice.time = reoccupied(task.choice.time, bytes_of(task.key), timed.rates,
                                    timed.occupancy, busy[task.device.index()]);
  return simulate_loop(graph);
}

}  // namespace troika
