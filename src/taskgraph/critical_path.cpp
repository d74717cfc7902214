#include "taskgraph/critical_path.h"

#include <algorithm>

#include "base/error.h"
#include "taskgraph/time_use.h"

namespace troika {
namespace {

/// Goes backwards through the passes, all of which are like the one that is shown.
class PathWalk {
 public:
  PathWalk(const TaskGraph& graph, const LoopPass& pass)
      : graph_(graph), pass_(pass), starts_(last_starts(graph, pass)), places_(graph.tasks.size()) {
    for (std::size_t row = 0; row < pass.rows.size(); ++row)
      for (std::size_t at = 0; at < pass.rows[row].tasks.size(); ++at)
        places_[pass.rows[row].tasks[at].task] = {row, at};
  }

  std::vector<PathPart> run() {
    if (!begin_at_last()) return {};
    // Each step goes back in time or, among tasks without length, in the order of the pass.
    for (std::size_t steps = 0; time_ > first_; ++steps) {
      TROIKA_CHECK(steps < kMostPasses * graph_.tasks.size(), "a critical path without an end");
      step();
    }
    std::ranges::reverse(parts_);
    return std::move(parts_);
  }

 private:
  struct Place {
    std::size_t row = 0, at = 0;
  };
  /// A period holds the tasks of one pass, of each device; lags reach further back.
  static constexpr std::size_t kMostPasses = 64;

  bool begin_at_last() {
    bool found = false;
    for (std::size_t row = 0; row < pass_.rows.size(); ++row) {
      const std::vector<RanTask>& tasks = pass_.rows[row].tasks;
      if (tasks.empty() || (found && tasks.back().end <= time_)) continue;
      found = true;
      here_ = {row, tasks.size() - 1};
      time_ = tasks.back().end;
    }
    first_ = time_ - pass_.period;
    return found && pass_.period > SimTime{};
  }

  const RanTask& ran() const { return pass_.rows[here_.row].tasks[here_.at]; }

  void add(PathPart::Kind kind, SimTime start) {
    start = std::max(start, first_);
    if (start < time_)
      parts_.push_back({kind, ran().task, pass_.rows[here_.row].device, start, time_});
    time_ = std::min(time_, start);
  }

  void step() {
    const RanTask& now = ran();
    SimTime end = now.end - earlier_;
    if (end < time_) return add(PathPart::Kind::gap, end);
    const Task& task = graph_.tasks[now.task];
    bool waited = task.kind == TaskKind::finish && now.time() > pass_.message_end;
    std::optional<SimTime> begin;
    if (waited) begin = began(graph_, pass_, now, starts_);
    // The finish of a sender may end before others have started.
    if (begin && *begin <= now.end) return follow_message(now, *begin - earlier_);
    add(waited ? PathPart::Kind::message : PathPart::Kind::task, now.start - earlier_);
    go_back();
  }

  void follow_message(const RanTask& finish, SimTime begin) {
    const RanTask& start = *starts_[as_index(pass_.messages[finish.task])];
    add(PathPart::Kind::message, begin);
    earlier_ += pass_.period * (pass_.passes_back(graph_.tasks[finish.task]) -
                                pass_.passes_back(graph_.tasks[start.task]));
    here_ = places_[start.task];
  }

  void go_back() {
    if (here_.at > 0) {
      --here_.at;
      return;
    }
    here_.at = pass_.rows[here_.row].tasks.size() - 1;
    earlier_ += pass_.period;
  }

  const TaskGraph& graph_;
  const LoopPass& pass_;
  const std::vector<std::optional<RanTask>> starts_;
  std::vector<Place> places_;  // by task
  Place here_;
  SimTime earlier_{};  // how far the pass that the walk has reached is before the one shown
  SimTime time_{}, first_{};
  std::vector<PathPart> parts_;  // the last one first
};

}  // namespace

std::vector<PathPart> critical_path(const TaskGraph& graph, const LoopPass& pass) {
  return PathWalk(graph, pass).run();
}

}  // namespace troika
