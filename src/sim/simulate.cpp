#include "sim/simulate.h"

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

/// When the tasks of one step start and end.
struct StepTimes {
  explicit StepTimes(std::size_t tasks) : start(tasks), end(tasks) {}

  std::vector<SimTime> start, end;
};

class Simulation {
 public:
  Simulation(const TaskGraph& graph, int steps)
      : graph_(graph),
        into_(graph.tasks.size()),
        device_free_(graph.arena.size()),
        all_started_(graph.communications.size()) {
    for (const Dependency& edge : graph.dependencies) into_[edge.to].push_back(edge);
    steps_.assign(static_cast<std::size_t>(steps), StepTimes(graph.tasks.size()));
  }

  /// What is carried over runs together with the next step, after the last one by itself.
  const StepTimes& run() {
    std::vector<std::size_t> order = loop_order(graph_);
    for (std::size_t pass = 0; pass <= steps_.size(); ++pass) {
      for (std::size_t task : order) {
        std::size_t step = pass - (graph_.tasks[task].carried ? 1 : 0);
        if (step < steps_.size()) run(task, step);
      }
    }
    return steps_.back();
  }

 private:
  void run(std::size_t at, std::size_t step) {
    const Task& task = graph_.tasks[at];
    SimTime& free = device_free_[task.device.index()];
    SimTime ready = free;
    for (const Dependency& edge : into_[at]) {
      auto distance = static_cast<std::size_t>(edge.distance);
      if (distance > step) continue;
      ready = std::max(ready, steps_[step - distance].end[edge.from]);
    }
    steps_[step].start[at] = ready;
    free = ready + task.choice.time;
    if (!task.computes()) free = std::max(free, end_of_message(task, free));
    steps_[step].end[at] = free;
  }

  /// Links are free when a communication starts: no queueing yet.
  SimTime end_of_message(const Task& task, SimTime now) {
    SimTime& started = all_started_[task.communication.index()];
    if (task.kind == TaskKind::finish) return started + graph_[task.communication].time;
    return started = std::max(started, now);
  }

  const TaskGraph& graph_;
  std::vector<std::vector<Dependency>> into_;       // by task
  std::vector<SimTime> device_free_, all_started_;  // of each communication's last round
  std::vector<StepTimes> steps_;
};

}  // namespace

Timeline simulate(const TaskGraph& graph, int steps) {
  TROIKA_CHECK(steps >= 1);
  Simulation simulation(graph, steps);
  const StepTimes& last = simulation.run();
  SimTime begin = last.start.empty() ? SimTime{} : *std::ranges::min_element(last.start);
  Timeline timeline;
  for (std::size_t task = 0; task < graph.tasks.size(); ++task)
    timeline.spans.push_back({graph.tasks[task].id, graph.tasks[task].device,
                              last.start[task] - begin, last.end[task] - begin});
  return timeline;
}

}  // namespace troika
