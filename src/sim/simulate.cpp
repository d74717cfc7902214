#include "sim/simulate.h"

#include "base/error.h"
#include "sim/loop_body.h"
#include "sim/loop_period.h"
#include "sim/loop_run.h"
#include "sim/pass_timeline.h"
#include "sim/work_depth.h"

namespace troika {
namespace {

/// A second run, from the same start, which keeps the times of the pass that turned out to be
/// steady.
Timeline steady_pass(const LoopBody& body, std::int64_t pass, Timeline empty) {
  LoopRun run(body);
  run.record(pass, pass);
  while (run.passes() <= pass && run.run_pass()) continue;
  TROIKA_CHECK(run.passes() > pass, "a loop that came to a halt");
  return fill_timeline(std::move(empty), run.take_recorded());
}

template <class Graph>
SteadyLoop loop_of(const Graph& graph) {
  LoopBody body = loop_body(graph);
  if (body.tasks.empty()) return {};
  LoopPeriod period = find_period(body);
  return {steady_pass(body, period.passes - 1, empty_timeline(graph)), period.time, period.repeats};
}

/// One step from rest.
template <class Graph>
Timeline step_of(const Graph& graph) {
  LoopBody body = loop_body(graph);
  LoopRun run(body, 1);
  run.record(0, largest_lag(body));
  while (run.run_pass()) continue;
  TROIKA_CHECK(body.lanes.empty() || run.passes() == 1 + largest_lag(body),
               "a step without an end");
  return fill_timeline(empty_timeline(graph), run.take_recorded());
}

}  // namespace

Timeline simulate(const TaskGraph& graph) {
  Timeline timeline = step_of(graph);
  TROIKA_CHECK(timeline.length() >= work_depth(graph).depth, "a step shorter than its depth");
  return timeline;
}

Timeline simulate(const FoldedGraph& graph) { return step_of(graph); }

SteadyLoop simulate_loop(const TaskGraph& graph) { return loop_of(graph); }

SteadyLoop simulate_loop(const FoldedGraph& graph) { return loop_of(graph); }

}  // namespace troika
