#include "sim/simulate.h"

#include <algorithm>
#include <deque>
#include <optional>

namespace troika {
namespace {

/// Longest period, in passes, that is looked for.
constexpr std::size_t kLongestRepetition = 8;
/// Passes after which the loop is taken as not periodic. Lowered graphs settle within a few.
constexpr std::size_t kMostPasses = 32;

using Times = std::vector<SimTime>;

/// How many passes back a pass depends on others: by what dependencies say, and from the start of a
/// message to its finish.
std::size_t find_reach(const TaskGraph& graph) {
  int reach = graph.communications.empty() ? 0 : largest_lag(graph);
  auto lag = [&](std::size_t task) { return graph.tasks[task].lag; };
  for (const Dependency& edge : graph.dependencies)
    reach = std::max(reach, edge.distance + lag(edge.to) - lag(edge.from));
  return static_cast<std::size_t>(reach);
}

class Simulation {
 public:
  explicit Simulation(const TaskGraph& graph)
      : graph_(graph),
        order_(loop_order(graph)),
        into_(graph.tasks.size()),
        start_(graph.tasks.size()),
        end_(graph.tasks.size()),
        device_free_(graph.arena.size()),
        largest_lag_(static_cast<std::size_t>(largest_lag(graph))),
        reach_(find_reach(graph)) {
    std::size_t distance = 0;
    for (const Dependency& edge : graph.dependencies) {
      into_[edge.to].push_back(edge);
      distance = std::max(distance, static_cast<std::size_t>(edge.distance));
    }
    // Steps from the newest under way to the oldest, and from there as far as it looks back.
    ends_.assign(largest_lag_ + distance + 1, end_);
    all_started_.assign(largest_lag_ + 1, Times(graph.communications.size()));
  }

  /// The tasks of one more step, and of the steps before it those that lag.
  void run_pass() {
    ++steps_;
    run_next();
  }

  /// What is left of the last steps, pass by pass.
  void drain() {
    for (std::size_t pass = 0; pass < largest_lag_; ++pass) run_next();
  }

  /// Passes before it that a pass depends on.
  std::size_t reach() const { return reach_; }
  /// Passes from rest that lack some tasks.
  std::size_t warm_up() const { return largest_lag_; }
  /// End of the latest run of each task.
  const Times& ends() const { return end_; }
  /// When the last of the devices is done.
  SimTime end() const {
    return device_free_.empty() ? SimTime{} : *std::ranges::max_element(device_free_);
  }

  Timeline timeline() const {
    SimTime begin = start_.empty() ? SimTime{} : *std::ranges::min_element(start_);
    Timeline timeline;
    for (std::size_t task = 0; task < graph_.tasks.size(); ++task)
      timeline.spans.push_back({graph_.tasks[task].id, graph_.tasks[task].device,
                                start_[task] - begin, end_[task] - begin});
    return timeline;
  }

 private:
  void run_next() {
    for (std::size_t task : order_) {
      auto lag = static_cast<std::size_t>(graph_.tasks[task].lag);
      if (lag <= passes_ && passes_ - lag < steps_) run(task, passes_ - lag);
    }
    ++passes_;
  }

  SimTime& end_of(std::size_t task, std::size_t step) { return ends_[step % ends_.size()][task]; }

  void run(std::size_t at, std::size_t step) {
    const Task& task = graph_.tasks[at];
    SimTime& free = device_free_[task.device.index()];
    SimTime ready = free;
    for (const Dependency& edge : into_[at]) {
      auto distance = static_cast<std::size_t>(edge.distance);
      if (distance <= step) ready = std::max(ready, end_of(edge.from, step - distance));
    }
    free = ready + task.choice.time;
    if (!task.computes()) free = std::max(free, end_of_message(task, step, free));
    start_[at] = ready;
    end_[at] = end_of(at, step) = free;
  }

  /// Links are free when a communication starts: no queueing yet.
  SimTime end_of_message(const Task& task, std::size_t step, SimTime now) {
    SimTime& started = all_started_[step % all_started_.size()][task.communication.index()];
    if (task.kind == TaskKind::finish) return started + graph_[task.communication].time;
    return started = std::max(started, now);
  }

  const TaskGraph& graph_;
  std::vector<std::size_t> order_;
  std::vector<std::vector<Dependency>> into_;  // by task
  Times start_, end_;                          // by task, when it ran last
  std::vector<Times> ends_;                    // by step, as far as dependencies reach back
  std::vector<Times>
      all_started_;  // by step that is under way, when each communication has started
  Times device_free_;
  const std::size_t largest_lag_, reach_;
  std::size_t steps_ = 0, passes_ = 0;
};

/// The shift between two passes whose times are the same but for it; nothing when there is none.
std::optional<SimTime> shift_between(const Times& earlier, const Times& later) {
  SimTime shift = later.front() - earlier.front();
  for (std::size_t at = 0; at < later.size(); ++at)
    if (later[at] - earlier[at] != shift) return std::nullopt;
  return shift;
}

SimTime divided(SimTime time, std::size_t by) {
  auto count = static_cast<std::int64_t>(by);
  return {(time.count + count / 2) / count};
}

/// The same for the last pass and the `reach` before it, each against the one `back` passes
/// earlier. `passes`: the last one in front.
std::optional<SimTime> shift_over(const std::deque<Times>& passes, std::size_t back,
                                  std::size_t reach) {
  if (passes.size() <= back + reach) return std::nullopt;
  std::optional<SimTime> shift = shift_between(passes[back], passes[0]);
  for (std::size_t at = 1; shift && at <= reach; ++at)
    if (shift_between(passes[at + back], passes[at]) != shift) return std::nullopt;
  return shift;
}

/// Runs passes until the loop repeats itself; its period.
SimTime settle(Simulation& simulation) {
  std::deque<Times> passes;
  SimTime end_before{};
  for (std::size_t pass = 0; pass < simulation.warm_up(); ++pass) simulation.run_pass();
  for (std::size_t pass = 0; pass < kMostPasses; ++pass) {
    simulation.run_pass();
    passes.push_front(simulation.ends());
    for (std::size_t back = 1; back <= kLongestRepetition; ++back)
      if (auto shift = shift_over(passes, back, simulation.reach())) return divided(*shift, back);
    if (passes.size() > kLongestRepetition + simulation.reach()) passes.pop_back();
    if (pass + kLongestRepetition + 1 == kMostPasses) end_before = simulation.end();
  }
  return divided(simulation.end() - end_before, kLongestRepetition);
}

}  // namespace

Timeline simulate(const TaskGraph& graph) {
  Simulation simulation(graph);
  simulation.run_pass();
  simulation.drain();
  return simulation.timeline();
}

SteadyLoop simulate_loop(const TaskGraph& graph) {
  if (graph.tasks.empty()) return {};
  Simulation simulation(graph);
  SimTime period = settle(simulation);
  return {simulation.timeline(), period};
}

}  // namespace troika
