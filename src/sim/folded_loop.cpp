#include "sim/folded_loop.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace troika {
namespace {

/// Numbers are never used again, so the lists grow. Beyond this many times what is needed, the body
/// is made again.
constexpr std::size_t kMostGrowth = 4, kSmallBody = 4096;

bool is_moved_by_members(const LoopBody& body, std::int32_t number) {
  const LoopMessage& message = body.messages[as_index(number)];
  auto first = body.phases.begin() + message.first_phase;
  return std::any_of(first, first + message.phases,
                     [](const MessagePhase& phase) { return phase.work > SimTime{}; });
}

std::int32_t narrow_place(std::size_t number) { return static_cast<std::int32_t>(number); }

}  // namespace

FoldedLoop::Parts FoldedLoop::make(const FoldedGraph& graph) {
  Parts made{.body = empty_loop_body(graph)};
  made.graph.runtime = graph.runtime;
  for (std::size_t lane = 0; lane < graph.tasks.size(); ++lane)
    for (const FoldedTask& task : graph.tasks[lane]) add(made, narrow_place(lane), task);
  for (std::size_t message = 0; message < made.body.messages.size(); ++message)
    made.with_work += is_moved_by_members(made.body, narrow_place(message)) ? 1 : 0;
  return made;
}

void FoldedLoop::add(Parts& parts, std::int32_t lane, const FoldedTask& task) {
  std::int32_t message = -1;
  if (task.kind != TaskKind::compute) {
    auto [known, is_new] =
        parts.messages.try_emplace(task.call, narrow_place(parts.body.messages.size()));
    if (is_new) parts.body.messages.emplace_back();
    message = known->second;
  }
  add_folded_task(parts.body, {lane, message, parts.graph.runtime}, task);
  auto lag = as_index(task.lag);
  if (parts.tasks_of_lag.size() <= lag) parts.tasks_of_lag.resize(lag + 1);
  ++parts.tasks_of_lag[lag];
}

LoopChange FoldedLoop::change_to(const FoldedGraph& graph) {
  if (!can_follow(graph)) return make_again(graph);
  Hunks hunks = find_hunks(graph);
  std::vector<FoldedCall> calls = calls_of(graph, hunks);
  add_ends(calls, hunks);
  remember();
  std::vector<std::int32_t> lengths;
  for (const LoopLane& lane : now_.body.lanes) lengths.push_back(narrow_place(lane.tasks.size()));
  replace_messages(calls);
  for (std::size_t lane = 0; lane < hunks.size(); ++lane)
    if (!hunks[lane].empty()) replace_tasks(narrow_place(lane), hunks[lane], graph);
  for (const auto& [call, message] : former_->messages)
    if (message >= 0 && is_moved_by_members(now_.body, message)) --now_.with_work;
  for (std::size_t at = former_->all_messages; at < now_.body.messages.size(); ++at)
    if (is_moved_by_members(now_.body, narrow_place(at))) ++now_.with_work;
  // The run itself depends on the largest lag and on whether any messages are work.
  while (!now_.tasks_of_lag.empty() && now_.tasks_of_lag.back() == 0) now_.tasks_of_lag.pop_back();
  if (now_.tasks_of_lag.size() != former_->tasks_of_lag.size() ||
      (now_.with_work > 0) != (former_->with_work > 0)) {
    undo();
    return make_again(graph);
  }
  LoopChange change{
      .is_fresh = false, .borders = {}, .places = former_->places, .lengths = std::move(lengths)};
  for (const std::vector<Hunk>& own : hunks) {
    change.borders.emplace_back();
    for (const Hunk& hunk : own) change.borders.back().push_back(hunk.begin);
  }
  return change;
}

bool FoldedLoop::can_follow(const FoldedGraph& graph) const {
  if (now_.graph.tasks.empty() || now_.graph.classes != graph.classes ||
      now_.graph.links != graph.links || now_.graph.runtime != graph.runtime)
    return false;
  std::size_t needed = kSmallBody;
  for (const std::vector<FoldedTask>& tasks : graph.tasks) needed += tasks.size();
  return now_.body.tasks.size() < needed * kMostGrowth;
}

LoopChange FoldedLoop::make_again(const FoldedGraph& graph) {
  Parts made = make(graph);
  made.graph = graph;
  former_.emplace();
  former_->all = std::exchange(now_, std::move(made));
  return {};
}

/// Both lists are in the order of the tasks, which no two of a lane share.
FoldedLoop::Hunks FoldedLoop::find_hunks(const FoldedGraph& graph) const {
  Hunks hunks(graph.tasks.size());
  for (std::size_t lane = 0; lane < graph.tasks.size(); ++lane) {
    const std::vector<FoldedTask>&before = now_.graph.tasks[lane], &after = graph.tasks[lane];
    std::size_t old = 0, now = 0;
    auto differs = [&] {
      return old == before.size() || now == after.size() || before[old] != after[now];
    };
    while (true) {
      while (!differs()) ++old, ++now;
      if (old == before.size() && now == after.size()) break;
      Hunk hunk{narrow_place(old), 0, narrow_place(now), 0};
      for (; (old < before.size() || now < after.size()) && differs();) {
        bool goes = now == after.size() ||
                    (old < before.size() && before[old].order() <= after[now].order());
        bool comes = old == before.size() ||
                     (now < after.size() && after[now].order() <= before[old].order());
        old += goes ? 1 : 0;
        now += comes ? 1 : 0;
      }
      hunk.end = narrow_place(old);
      hunk.new_end = narrow_place(now);
      hunks[lane].push_back(hunk);
    }
  }
  return hunks;
}

/// Of messages whose ends differ.
std::vector<FoldedCall> FoldedLoop::calls_of(const FoldedGraph& graph, const Hunks& hunks) const {
  std::vector<FoldedCall> calls;
  auto add_call = [&](const FoldedTask& task) {
    if (task.kind != TaskKind::compute) calls.push_back(task.call);
  };
  for (std::size_t lane = 0; lane < hunks.size(); ++lane) {
    for (const Hunk& hunk : hunks[lane]) {
      std::for_each(now_.graph.tasks[lane].begin() + hunk.begin,
                    now_.graph.tasks[lane].begin() + hunk.end, add_call);
      std::for_each(graph.tasks[lane].begin() + hunk.new_begin,
                    graph.tasks[lane].begin() + hunk.new_end, add_call);
    }
  }
  std::ranges::sort(calls);
  calls.erase(std::ranges::unique(calls).begin(), calls.end());
  return calls;
}

/// All other ends of these messages: they are the same, but belong to another message now.
void FoldedLoop::add_ends(const std::vector<FoldedCall>& calls, Hunks& hunks) const {
  std::vector<std::vector<std::int32_t>> places(hunks.size());  // by lane
  for (const FoldedCall& call : calls) {
    auto known = now_.messages.find(call);
    if (known == now_.messages.end()) continue;
    for (std::int32_t end = now_.body.messages[as_index(known->second)].first_end; end >= 0;
         end = now_.body.tasks[as_index(end)].next_end)
      places[as_index(now_.body.tasks[as_index(end)].lane)].push_back(
          now_.body.places[as_index(end)]);
  }
  for (std::size_t lane = 0; lane < hunks.size(); ++lane) {
    if (places[lane].empty()) continue;
    std::ranges::sort(places[lane]);
    std::vector<Hunk> all;
    auto next = hunks[lane].begin();
    std::int32_t shift = 0;
    for (std::int32_t place : places[lane]) {
      for (; next != hunks[lane].end() && next->begin <= place; ++next) {
        all.push_back(*next);
        shift = next->new_end - next->end;
      }
      if (all.empty() || place >= all.back().end)
        all.push_back({place, place + 1, place + shift, place + shift + 1});
    }
    all.insert(all.end(), next, hunks[lane].end());
    hunks[lane] = std::move(all);
  }
}

void FoldedLoop::remember() {
  former_.emplace();
  former_->places = now_.body.places;
  former_->tasks_of_lag = now_.tasks_of_lag;
  former_->with_work = now_.with_work;
  former_->tasks = now_.body.tasks.size();
  former_->all_messages = now_.body.messages.size();
  former_->phases = now_.body.phases.size();
  former_->loads = now_.body.loads.size();
}

/// Their tasks make them again, if there are any.
void FoldedLoop::replace_messages(const std::vector<FoldedCall>& calls) {
  for (const FoldedCall& call : calls) {
    auto known = now_.messages.find(call);
    former_->messages.emplace_back(call, known == now_.messages.end() ? -1 : known->second);
    if (known != now_.messages.end()) now_.messages.erase(known);
  }
}

void FoldedLoop::replace_tasks(std::int32_t number, const std::vector<Hunk>& hunks,
                               const FoldedGraph& graph) {
  LoopLane& lane = now_.body.lanes[as_index(number)];
  std::vector<FoldedTask>& tasks = now_.graph.tasks[as_index(number)];
  LoopLane before = std::exchange(lane, {.tasks = {}, .work = lane.work, .process = lane.process});
  lane.tasks.reserve(graph.tasks[as_index(number)].size());
  auto keep = [&](std::int32_t begin, std::int32_t end) {
    lane.tasks.insert(lane.tasks.end(), before.tasks.begin() + begin, before.tasks.begin() + end);
  };
  std::int32_t kept = 0;
  for (const Hunk& hunk : hunks) {
    keep(kept, hunk.begin);
    kept = hunk.end;
    for (std::int32_t at = hunk.begin; at < hunk.end; ++at) {
      const LoopTask& gone = now_.body.tasks[as_index(before.tasks[as_index(at)])];
      lane.work = lane.work - gone.time;
      --now_.tasks_of_lag[as_index(gone.lag)];
    }
    for (std::int32_t at = hunk.new_begin; at < hunk.new_end; ++at)
      add(now_, number, graph.tasks[as_index(number)][as_index(at)]);
  }
  keep(kept, narrow_place(before.tasks.size()));
  for (std::size_t at = as_index(hunks.front().begin); at < lane.tasks.size(); ++at)
    now_.body.places[as_index(lane.tasks[at])] = narrow_place(at);
  former_->lanes.push_back(
      {number, std::move(before), std::exchange(tasks, graph.tasks[as_index(number)])});
}

void FoldedLoop::undo() {
  TROIKA_CHECK(former_.has_value(), "no change to take back");
  Former former = std::move(*std::exchange(former_, std::nullopt));
  if (former.all) {
    now_ = std::move(*former.all);
    return;
  }
  for (Former::OneLane& lane : former.lanes) {
    now_.body.lanes[as_index(lane.number)] = std::move(lane.lane);
    now_.graph.tasks[as_index(lane.number)] = std::move(lane.tasks);
  }
  now_.body.tasks.resize(former.tasks);
  now_.body.messages.resize(former.all_messages);
  now_.body.phases.resize(former.phases);
  now_.body.loads.resize(former.loads);
  for (const auto& [call, message] : former.messages) {
    if (message < 0)
      now_.messages.erase(call);
    else
      now_.messages[call] = message;
  }
  now_.body.places = std::move(former.places);
  now_.tasks_of_lag = std::move(former.tasks_of_lag);
  now_.with_work = former.with_work;
}

}  // namespace troika
