#include "sim/simulate.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "base/error.h"
#include "sim/loop_body.h"
#include "sim/loop_run.h"
#include "sim/work_depth.h"

namespace troika {
namespace {

/// Longest period, in passes, that is looked for.
constexpr std::size_t kLongestRepetition = 8;
/// Passes after which the loop is taken as not periodic, and those of them that are averaged then.
/// Lowered graphs settle within a few.
constexpr std::int64_t kMostPasses = 64, kAveragedPasses = 32;

/// A pass that has ended, and how things stood then.
struct PassEnd {
  std::int64_t passes = 0;
  SimTime time{};
  std::vector<std::int64_t> state;
};

/// The time of a pass, on average and rounded.
SimTime mean_between(const PassEnd& earlier, const PassEnd& later) {
  std::int64_t passes = later.passes - earlier.passes;
  return {((later.time - earlier.time).count + passes / 2) / passes};
}

/// Counted from when the first task began.
Timeline timeline_of(const LoopRun& run, Timeline timeline) {
  SimTime begin{std::numeric_limits<std::int64_t>::max()};
  for (const auto& times : run.recorded())
    if (times) begin = std::min(begin, times->start);
  for (std::size_t at = 0; at < timeline.spans.size(); ++at) {
    if (!run.recorded()[at]) continue;
    timeline.spans[at].start = run.recorded()[at]->start - begin;
    timeline.spans[at].end = run.recorded()[at]->end - begin;
  }
  return timeline;
}

Timeline empty_timeline(const TaskGraph& graph) {
  Timeline timeline;
  for (const Task& task : graph.tasks) timeline.spans.push_back({task.id, task.device, {}, {}});
  return timeline;
}

Timeline empty_timeline(const FoldedGraph& graph) {
  Timeline timeline;
  for (std::size_t at = 0; at < graph.tasks.size(); ++at) {
    DeviceId device(as_index(graph.classes.first[at]));
    for (const FoldedTask& task : graph.tasks[at])
      timeline.spans.push_back({task_id(task.id), device, {}, {}});
  }
  return timeline;
}

/// A second run, from the same start, which keeps the times of the pass that turned out to be
/// steady.
Timeline steady_pass(const LoopBody& body, std::int64_t pass, Timeline timeline) {
  LoopRun run(body);
  run.record(pass, pass);
  while (run.passes() <= pass && run.run_pass()) continue;
  TROIKA_CHECK(run.passes() > pass, "a loop that came to a halt");
  return timeline_of(run, std::move(timeline));
}

/// A lane does its tasks one after the other, so no step takes less than they do: period x devices
/// is at least the work of a step. A period may be rounded down.
LoopPeriod checked(const LoopBody& body, LoopPeriod period) {
  std::vector<SimTime> work(body.lanes);
  for (const LoopTask& task : body.tasks) work[as_index(task.lane)] += task.time;
  for (SimTime own : work) TROIKA_CHECK(own <= period.time + SimTime{1}, "a step without its work");
  return period;
}

template <class Graph>
SteadyLoop loop_of(const Graph& graph) {
  LoopBody body = loop_body(graph);
  if (body.tasks.empty()) return {};
  LoopPeriod period = find_period(body);
  return {steady_pass(body, period.passes - 1, empty_timeline(graph)), period.time, period.repeats};
}

}  // namespace

LoopPeriod find_period(const LoopBody& body) {
  LoopRun run(body);
  const std::int64_t first = largest_lag(body);  // in earlier passes some tasks do not take part
  std::deque<PassEnd> ends;                      // the last one in front
  PassEnd middle;
  while (run.passes() < first + kMostPasses) {
    std::optional<SimTime> end = run.run_pass();
    TROIKA_CHECK(end.has_value(), "a loop whose lanes wait for each other");
    if (run.passes() <= first) continue;
    ends.push_front({run.passes(), *end, run.state()});
    for (std::size_t back = 1; back < ends.size(); ++back)
      if (ends[back].state == ends[0].state)
        return checked(body, {mean_between(ends[back], ends[0]), true, run.passes()});
    if (ends.size() > kLongestRepetition) ends.pop_back();
    if (run.passes() <= first + kMostPasses - kAveragedPasses) middle = ends[0];
  }
  return {mean_between(middle, ends[0]), false, run.passes()};
}

Timeline simulate(const TaskGraph& graph) {
  LoopBody body = loop_body(graph);
  LoopRun run(body, 1);
  run.record(0, largest_lag(body));
  while (run.run_pass()) continue;
  TROIKA_CHECK(body.lanes == 0 || run.passes() == 1 + largest_lag(body), "a step without an end");
  Timeline timeline = timeline_of(run, empty_timeline(graph));
  TROIKA_CHECK(timeline.length() >= work_depth(graph).depth, "a step shorter than its depth");
  return timeline;
}

SteadyLoop simulate_loop(const TaskGraph& graph) { return loop_of(graph); }

SteadyLoop simulate_loop(const FoldedGraph& graph) { return loop_of(graph); }

}  // namespace troika
