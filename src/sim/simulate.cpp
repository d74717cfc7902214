#include "sim/simulate.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "sim/loop_body.h"

namespace troika {
namespace {

/// Longest period, in passes, that is looked for.
constexpr std::size_t kLongestRepetition = 8;
/// Passes after which the loop is taken as not periodic. Lowered graphs settle within a few.
constexpr std::size_t kMostPasses = 32;

using Times = std::vector<SimTime>;

int largest_lag(const LoopBody& body) {
  int largest = 0;
  for (const LoopTask& task : body.tasks) largest = std::max(largest, task.lag);
  return largest;
}

/// How many passes back a pass depends on others: by what dependencies say, and from the start of a
/// message to its finish.
std::size_t find_reach(const LoopBody& body) {
  int reach = body.messages == 0 ? 0 : largest_lag(body);
  auto lag = [&](std::size_t task) { return body.tasks[task].lag; };
  for (const Dependency& edge : body.dependencies)
    reach = std::max(reach, edge.distance + lag(edge.to) - lag(edge.from));
  return static_cast<std::size_t>(reach);
}

class Simulation {
 public:
  explicit Simulation(const LoopBody& body)
      : body_(body),
        into_(body.tasks.size()),
        start_(body.tasks.size()),
        end_(body.tasks.size()),
        lane_free_(body.lanes),
        largest_lag_(static_cast<std::size_t>(largest_lag(body))),
        reach_(find_reach(body)) {
    std::size_t distance = 0;
    for (const Dependency& edge : body.dependencies) {
      into_[edge.to].push_back(edge);
      distance = std::max(distance, static_cast<std::size_t>(edge.distance));
    }
    // Steps from the newest under way to the oldest, and from there as far as it looks back.
    ends_.assign(largest_lag_ + distance + 1, end_);
    all_started_.assign(largest_lag_ + 1, Times(body.messages));
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
    return lane_free_.empty() ? SimTime{} : *std::ranges::max_element(lane_free_);
  }
  SimTime start_of(std::size_t task) const { return start_[task]; }
  SimTime end_of(std::size_t task) const { return end_[task]; }
  /// When the first task of the latest runs began.
  SimTime begin() const { return start_.empty() ? SimTime{} : *std::ranges::min_element(start_); }

 private:
  void run_next() {
    for (std::size_t task : body_.order) {
      auto lag = static_cast<std::size_t>(body_.tasks[task].lag);
      if (lag <= passes_ && passes_ - lag < steps_) run(task, passes_ - lag);
    }
    ++passes_;
  }

  SimTime& end_of(std::size_t task, std::size_t step) { return ends_[step % ends_.size()][task]; }

  void run(std::size_t at, std::size_t step) {
    const LoopTask& task = body_.tasks[at];
    SimTime& free = lane_free_[as_index(task.lane)];
    SimTime ready = free;
    for (const Dependency& edge : into_[at]) {
      auto distance = static_cast<std::size_t>(edge.distance);
      if (distance <= step) ready = std::max(ready, end_of(edge.from, step - distance));
    }
    free = ready;
    if (task.kind == TaskKind::compute)
      free += task.time;
    else
      free = end_of_message(task, step, free);
    start_[at] = ready;
    end_[at] = end_of(at, step) = free;
  }

  /// A start hands the buffer over and does not wait. Links are free when the last member has
  /// started: no queueing yet.
  SimTime end_of_message(const LoopTask& task, std::size_t step, SimTime now) {
    SimTime& started = all_started_[step % all_started_.size()][as_index(task.message)];
    if (task.kind == TaskKind::finish) return std::max(now, started + task.time);
    started = std::max(started, now);
    return now;
  }

  const LoopBody& body_;
  std::vector<std::vector<Dependency>> into_;  // by task
  Times start_, end_;                          // by task, when it ran last
  std::vector<Times> ends_;                    // by step, as far as dependencies reach back
  std::vector<Times> all_started_;  // by step that is under way, when each message has started
  Times lane_free_;
  const std::size_t largest_lag_, reach_;
  std::size_t steps_ = 0, passes_ = 0;
};

/// Counted from when the first of the latest runs began.
Timeline timeline_of(const Simulation& simulation, Timeline timeline) {
  SimTime begin = simulation.begin();
  for (std::size_t at = 0; at < timeline.spans.size(); ++at) {
    timeline.spans[at].start = simulation.start_of(at) - begin;
    timeline.spans[at].end = simulation.end_of(at) - begin;
  }
  return timeline;
}

Timeline timeline_of(const Simulation& simulation, const TaskGraph& graph) {
  Timeline timeline;
  for (const Task& task : graph.tasks) timeline.spans.push_back({task.id, task.device, {}, {}});
  return timeline_of(simulation, std::move(timeline));
}

Timeline timeline_of(const Simulation& simulation, const FoldedGraph& graph) {
  Timeline timeline;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    DeviceId device(as_index(graph.classes.first[at]));
    for (const FoldedTask& task : graph.tasks[at])
      timeline.spans.push_back({task_id(task.id), device, {}, {}});
  }
  return timeline_of(simulation, std::move(timeline));
}

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
  LoopBody body = loop_body(graph);
  Simulation simulation(body);
  simulation.run_pass();
  simulation.drain();
  return timeline_of(simulation, graph);
}

SteadyLoop simulate_loop(const TaskGraph& graph) {
  if (graph.tasks.empty()) return {};
  LoopBody body = loop_body(graph);
  Simulation simulation(body);
  SimTime period = settle(simulation);
  return {timeline_of(simulation, graph), period};
}

SteadyLoop simulate_loop(const FoldedGraph& graph) {
  LoopBody body = loop_body(graph);
  if (body.tasks.empty()) return {};
  Simulation simulation(body);
  SimTime period = settle(simulation);
  return {timeline_of(simulation, graph), period};
}

}  // namespace troika
