#include "taskgraph/check_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace troika {
namespace {

constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);

/// A task in one of two successive steps.
struct Moment {
  std::uint32_t task = kNone;
  std::uint32_t step = 0;

  bool operator==(const Moment&) const = default;
};

/// Who accessed the bytes of each buffer last, while the tasks are gone through in order. Roots are
/// cut where views begin and end.
class AccessHistory {
 public:
  explicit AccessHistory(const TaskGraph& graph) : graph_(graph), roots_(graph.buffers.size()) {
    for (std::size_t at = 0; at < graph.buffers.size(); ++at) {
      BufferId id(at), root = graph.root(id);
      std::int64_t begin = graph.offset_in_root(id).count;
      views_.push_back({root.index(), {begin, begin + graph[id].bytes().count}});
    }
  }

  std::size_t root(BufferId id) const { return views_[id.index()].root; }

  /// Calls conflict(earlier) for each access so far that must come before this one; then notes it.
  template <class Conflict>
  void add(Moment now, const BufferUse& use, const Conflict& conflict) {
    const View& view = views_[use.buffer.index()];
    if (view.bytes.empty()) return;
    std::vector<Segment>& segments = roots_[view.root];
    if (segments.empty())
      segments.push_back({0, graph_[BufferId(view.root)].bytes().count, {}, kNone});
    std::size_t at = cut(segments, view.bytes.begin);
    for (; at < segments.size() && segments[at].begin < view.bytes.end; ++at) {
      if (segments[at].end > view.bytes.end) cut(segments, view.bytes.end);
      visit(segments[at], now, use.access, conflict);
    }
  }

 private:
  struct View {
    std::size_t root;
    Range bytes;
  };
  struct Segment {
    std::int64_t begin, end;
    Moment writer;          ///< The last one,
    std::uint32_t readers;  ///< and those since then: a list in readers_.
  };
  struct Reader {
    Moment moment;
    std::uint32_t next;
  };

  /// Makes a segment begin there; its place.
  static std::size_t cut(std::vector<Segment>& segments, std::int64_t at) {
    auto found = std::ranges::upper_bound(segments, at, {}, &Segment::begin) - 1;
    if (found->begin != at && at < found->end) {
      Segment behind = *found;
      behind.begin = found->end = at;
      found = segments.insert(found + 1, behind);
    }
    return static_cast<std::size_t>(found - segments.begin());
  }

  template <class Conflict>
  void visit(Segment& segment, Moment now, Access access, const Conflict& conflict) {
    if (segment.writer.task != kNone && segment.writer != now) conflict(segment.writer);
    if (access == Access::read) {
      readers_.push_back({now, segment.readers});
      segment.readers = static_cast<std::uint32_t>(readers_.size() - 1);
      return;
    }
    for (std::uint32_t at = segment.readers; at != kNone; at = readers_[at].next)
      if (readers_[at].moment != now) conflict(readers_[at].moment);
    segment.writer = now;
    segment.readers = kNone;
  }

  const TaskGraph& graph_;
  std::vector<View> views_;                  // by buffer
  std::vector<std::vector<Segment>> roots_;  // by root, by where they begin
  std::vector<Reader> readers_;
};

/// What comes before what by dependencies alone.
class Precedence {
 public:
  explicit Precedence(const TaskGraph& graph)
      : first_(graph.tasks.size() + 1), into_(graph.dependencies.size()) {
    for (const Dependency& edge : graph.dependencies) ++first_[edge.to + 1];
    for (std::size_t at = 1; at < first_.size(); ++at) first_[at] += first_[at - 1];
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (const Dependency& edge : graph.dependencies)
      into_[next[edge.to]++] = {static_cast<std::uint32_t>(edge.from),
                                static_cast<std::uint32_t>(edge.distance)};
    seen_.resize(2 * graph.tasks.size());
    wanted_.resize(2 * graph.tasks.size());
  }

  /// Takes out of `earlier` what comes before `now`.
  void remove_ordered(std::vector<Moment>& earlier, Moment now) {
    if (earlier.empty()) return;
    ++searches_;
    missing_ = 0;
    for (Moment moment : earlier) {
      std::uint32_t& mark = wanted_[number(moment)];
      missing_ += mark != searches_ ? 1 : 0;
      mark = searches_;
    }
    // What is looked for is mostly a neighbour, or one of a chain that leads to it.
    near_ = {now};
    far_.clear();
    while (missing_ > 0 && !(near_.empty() && far_.empty())) {
      std::vector<Moment>& from = near_.empty() ? far_ : near_;
      Moment at = from.back();
      from.pop_back();
      follow_back(at);
    }
    std::erase_if(earlier, [&](Moment moment) { return seen_[number(moment)] == searches_; });
  }

 private:
  struct Source {
    std::uint32_t task, distance;
  };

  static std::size_t number(Moment moment) { return 2 * std::size_t{moment.task} + moment.step; }

  void follow_back(Moment to) {
    for (std::uint32_t at = first_[to.task]; at < first_[to.task + 1]; ++at) {
      Source source = into_[at];
      if (source.distance > to.step) continue;
      Moment moment{source.task, to.step - source.distance};
      if (seen_[number(moment)] == searches_) continue;
      seen_[number(moment)] = searches_;
      bool is_wanted = wanted_[number(moment)] == searches_;
      missing_ -= is_wanted ? 1 : 0;
      (is_wanted ? near_ : far_).push_back(moment);
    }
  }

  std::vector<std::uint32_t> first_;  // by task, in into_
  std::vector<Source> into_;
  // Of the last search, which has a number.
  std::uint32_t searches_ = 0, missing_ = 0;
  std::vector<std::uint32_t> seen_, wanted_;  // by moment
  std::vector<Moment> near_, far_;
};

class OrderCheck {
 public:
  OrderCheck(const TaskGraph& graph, const std::vector<std::size_t>& order)
      : graph_(graph), precedence_(graph), history_(graph), place_(graph.tasks.size()) {
    for (std::size_t at = 0; at < order.size(); ++at) place_[order[at]] = at;
  }

  void run() {
    check_dependencies();
    for (std::uint32_t task = 0; task < graph_.tasks.size(); ++task)
      check({task, 0}, [](std::size_t) { return true; });
    std::vector<bool> outlives = find_outliving();
    for (std::uint32_t task = 0; task < graph_.tasks.size(); ++task)
      check({task, 1}, [&](std::size_t root) { return outlives[root]; });
  }

 private:
  void check_dependencies() const {
    for (const Dependency& edge : graph_.dependencies) {
      const Task &from = graph_.tasks[edge.from], &to = graph_.tasks[edge.to];
      std::int64_t ran = from.lag, runs = std::int64_t{edge.distance} + to.lag;  // passes
      TROIKA_CHECK(std::pair(ran, place_[edge.from]) < std::pair(runs, place_[edge.to]),
                   fmt::format("'{}' with lag {} waits for '{}' of {} steps before, which runs "
                               "later, with lag {}",
                               to.name, to.lag, from.name, edge.distance, from.lag));
    }
  }

  template <class Matters>
  void check(Moment now, const Matters& matters) {
    for (const BufferUse& use : graph_.tasks[now.task].uses) {
      if (!matters(history_.root(use.buffer))) continue;
      earlier_.clear();
      history_.add(now, use, [&](Moment moment) {
        // Both of the second step are what both of the first one were.
        if (now.step == 1 && moment.step == 1) return;
        require(runs_before(moment, now), moment, now, use);
        earlier_.push_back(moment);
      });
      precedence_.remove_ordered(earlier_, now);
      require(earlier_.empty(), earlier_.empty() ? now : earlier_.front(), now, use);
    }
  }

  /// As the loop runs them.
  bool runs_before(Moment a, Moment b) const { return when(a) < when(b); }

  /// Pass of the loop and place in it.
  std::pair<std::int64_t, std::size_t> when(Moment moment) const {
    return {std::int64_t{moment.step} + graph_.tasks[moment.task].lag, place_[moment.task]};
  }

  /// By root: memory that a later step finds as this one leaves it, or in which tasks of different
  /// lags meet.
  std::vector<bool> find_outliving() const {
    std::vector<bool> outlives(graph_.buffers.size());
    std::vector<int> lags(graph_.buffers.size(), -1);  // of the first task
    for (std::size_t at = 0; at < outlives.size(); ++at)
      outlives[at] = graph_.buffers[at].persistent;
    for (const Task& task : graph_.tasks)
      for (const BufferUse& use : task.uses) {
        std::size_t root = history_.root(use.buffer);
        if (lags[root] < 0) lags[root] = task.lag;
        if (lags[root] != task.lag) outlives[root] = true;
      }
    return outlives;
  }

  void require(bool is_ordered, Moment first, Moment second, const BufferUse& use) const {
    TROIKA_CHECK(is_ordered, fmt::format("nothing orders '{}'{} before '{}', and both use '{}'",
                                         graph_.tasks[first.task].name,
                                         first.step < second.step ? " of the step before" : "",
                                         graph_.tasks[second.task].name, graph_[use.buffer].name));
  }

  const TaskGraph& graph_;
  Precedence precedence_;
  AccessHistory history_;
  std::vector<std::size_t> place_;  // by task, in the order of the loop
  std::vector<Moment> earlier_;
};

}  // namespace

void check_order(const TaskGraph& graph, const std::vector<std::size_t>& order) {
  for (const Dependency& edge : graph.dependencies) {
    TROIKA_CHECK(edge.from < graph.tasks.size() && edge.to < graph.tasks.size(),
                 "a dependency of a task that is not there");
    TROIKA_CHECK(edge.distance > 0 || (edge.distance == 0 && edge.from < edge.to),
                 "a dependency points backwards within a step");
  }
  OrderCheck(graph, order).run();
}

}  // namespace troika
