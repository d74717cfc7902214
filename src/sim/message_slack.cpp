#include "sim/message_slack.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "sim/loop_run.h"

namespace troika {
namespace {

constexpr SimTime kUnknown{std::numeric_limits<std::int64_t>::max()};
/// How far ahead the effect of a delay is followed.
constexpr int kFollowedPasses = 64;

/// When the tasks of one pass ran, and when the messages of the step of the same number were over.
/// In the steady state every other pass is the same, shifted by the period.
struct SteadySchedule {
  struct Times {
    SimTime start{}, end{};  // of a finish: start is when the lane came to it
  };
  std::vector<Times> tasks;
  std::vector<SimTime> over;  // by message
};

SteadySchedule steady_schedule(const LoopBody& body, std::int64_t pass) {
  LoopRun run(body);
  run.record(pass, pass);
  run.record_messages(pass);
  // Tasks of that step run up to the largest lag later.
  while (run.passes() <= pass + largest_lag(body) && run.run_pass()) continue;
  SteadySchedule made{.tasks = std::vector<SteadySchedule::Times>(body.tasks.size()),
                      .over = run.message_ends()};
  for (const TaskRun& times : run.take_recorded()) {
    SteadySchedule::Times& own = made.tasks[as_index(times.task)];
    if (times.start != TaskRun::kOpen) own.start = times.start;
    if (times.end != TaskRun::kOpen) own.end = times.end;
  }
  return made;
}

/// A delay of a task is taken up by the gaps before what has to wait for it, one after the other.
/// Its slack is the least sum of gaps on a way to a task that cannot be delayed at all, because it
/// waits for itself without any gap, one period later. Sums begin at 0 and grow pass by pass.
class SlackSearch {
 public:
  SlackSearch(const LoopBody& body, const LoopPeriod& period)
      : body_(body),
        period_(period.time),
        steady_(steady_schedule(body, period.passes - 1)),
        slack_(body.tasks.size()),
        of_message_(body.messages.size()),
        next_(body.messages.size(), kUnknown),
        finishes_left_(body.messages.size()),
        started_(body.messages.size()) {
    for (const LoopLane& lane : body.lanes)
      order_.insert(order_.end(), lane.tasks.begin(), lane.tasks.end());
    // Tasks that wait for this one in the same pass have been visited before it.
    std::ranges::sort(order_, std::ranges::greater{}, [&](std::int32_t task) {
      return std::tuple(steady_.tasks[as_index(task)].end, body_.places[as_index(task)], task);
    });
    for (std::int32_t task : order_) {
      const LoopTask& own = body_.tasks[as_index(task)];
      if (own.kind == TaskKind::start)
        started_[as_index(own.message)] =
            std::max(started_[as_index(own.message)], end_in_step(task));
    }
    for (std::size_t at = 0; at < body.messages.size(); ++at)
      finishes_left_[at] = body.messages[at].finishes;
  }

  std::vector<SimTime> run() {
    // Slack that only messages have gained reaches tasks in the next pass.
    for (int pass = 0; pass < kFollowedPasses && (follow_pass() || pass == 0); ++pass) continue;
    return std::move(of_message_);
  }

 private:
  /// Goes back through a pass. Returns whether a slack has grown.
  bool follow_pass() {
    bool has_grown = false;
    for (std::int32_t task : order_) {
      SimTime slack = slack_before_next(task);
      const LoopTask& own = body_.tasks[as_index(task)];
      if (own.kind == TaskKind::start) slack = std::min(slack, slack_before_message(task));
      has_grown = has_grown || slack != slack_[as_index(task)];
      slack_[as_index(task)] = slack;
      if (own.kind == TaskKind::finish) note_finish(task);
    }
    return has_grown;
  }

  /// By the next task of the lane, or the next pass: how much later this one could end.
  SimTime slack_before_next(std::int32_t task) const {
    const LoopLane& lane = body_.lanes[as_index(body_.tasks[as_index(task)].lane)];
    std::size_t place = as_index(body_.places[as_index(task)]) + 1;
    if (place < lane.tasks.size()) return slack_before(lane.tasks[place]);
    if (lane.process < 0) return slack_before_pass(task, lane, SimTime{});
    // Lanes of a process begin their passes together.
    const LoopProcess& process = body_.processes[as_index(lane.process)];
    SimTime slack = kUnknown;
    for (std::int32_t each : process.lanes)
      if (const LoopLane& other = body_.lanes[as_index(each)]; !other.tasks.empty())
        slack = std::min(slack, slack_before_pass(task, other, process.rest));
    return slack;
  }

  /// A lane that is ahead of the others waits between two passes.
  SimTime slack_before_pass(std::int32_t last, const LoopLane& lane, SimTime rest) const {
    std::int32_t first = lane.tasks.front();
    SimTime gap =
        steady_.tasks[as_index(first)].start + period_ - rest - steady_.tasks[as_index(last)].end;
    return slack_before(first) + std::max(gap, SimTime{});
  }

  /// How much later the lane could come to this task. A finish may have to wait there anyway.
  SimTime slack_before(std::int32_t task) const {
    const SteadySchedule::Times& times = steady_.tasks[as_index(task)];
    const LoopTask& own = body_.tasks[as_index(task)];
    SimTime gap = own.kind == TaskKind::finish ? times.end - own.time - times.start : SimTime{};
    return slack_[as_index(task)] + std::max(gap, SimTime{});
  }

  SimTime slack_before_message(std::int32_t start) const {
    auto message = as_index(body_.tasks[as_index(start)].message);
    return of_message_[message] + (started_[message] - end_in_step(start));
  }

  /// The slack of a message is known again once all its finishes have been visited.
  void note_finish(std::int32_t finish) {
    const LoopTask& own = body_.tasks[as_index(finish)];
    auto message = as_index(own.message);
    SimTime gap = end_in_step(finish) - own.time - steady_.over[message];
    next_[message] = std::min(next_[message], slack_[as_index(finish)] + std::max(gap, SimTime{}));
    if (--finishes_left_[message] > 0) return;
    of_message_[message] = std::exchange(next_[message], kUnknown);
    finishes_left_[message] = body_.messages[message].finishes;
  }

  /// In the step whose messages were recorded.
  SimTime end_in_step(std::int32_t task) const {
    return steady_.tasks[as_index(task)].end + period_ * body_.tasks[as_index(task)].lag;
  }

  const LoopBody& body_;
  const SimTime period_;
  const SteadySchedule steady_;
  std::vector<std::int32_t> order_;  // tasks, the last one of a pass first
  std::vector<SimTime> slack_;       // by task
  std::vector<SimTime> of_message_, next_;
  std::vector<std::int32_t> finishes_left_;  // by message, of this pass
  std::vector<SimTime> started_;             // by message: the last start
};

}  // namespace

std::vector<SimTime> find_slack(const LoopBody& body, const LoopPeriod& period) {
  TROIKA_CHECK(body.dependencies.empty(), "slack of lanes that wait for tasks of others");
  if (body.tasks.empty()) return {};
  return SlackSearch(body, period).run();
}

}  // namespace troika
