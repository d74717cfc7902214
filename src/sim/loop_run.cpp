#include "sim/loop_run.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/hash.h"

namespace troika {
namespace {

/// A lane may run this many passes ahead of the slowest one: a bound for processes that wait for
/// nobody.
constexpr std::int64_t kMostAhead = 8;

bool is_between_lanes(const LoopBody& body, const Dependency& edge) {
  return body.tasks[edge.from].lane != body.tasks[edge.to].lane;
}

bool has_work(const LoopBody& body) {
  return std::ranges::any_of(body.phases,
                             [](const MessagePhase& phase) { return phase.work > SimTime{}; });
}

std::int32_t narrow(std::size_t number) { return static_cast<std::int32_t>(number); }

}  // namespace

LoopRun::LoopRun(const LoopBody& body, std::int64_t steps)
    : body_(body),
      steps_(steps),
      largest_lag_(largest_lag(body)),
      // Between the earliest step that some lane has not finished and the latest that another has
      // started: each lane is at most one lag ahead of what it has seen the others start.
      slots_per_message_(2 * largest_lag_ + 3),
      has_work_(has_work(body)),
      lanes_(body.lanes.size()) {
  for (const DirectedLink& link : body.links) links_.push_back({.server = Server(link.chunk)});
  for (const Dependency& edge : body.dependencies) add_edge(edge);
  // A lane that waits for a task would have to move messages meanwhile. Lowered graphs have no such
  // dependencies: devices wait for each other by messages only.
  TROIKA_CHECK(edges_.empty() || !has_work_, "dependencies between lanes that move messages");
  for (const LoopMessage& message : body.messages)
    TROIKA_CHECK(message.phases > 0, "a message without phases");
  for (const MessagePhase& phase : body.phases)
    TROIKA_CHECK(phase.repeats > 0, "a phase that does not happen");
  restart();
}

/// Dependencies within a lane are met by the order of its tasks.
void LoopRun::add_edge(const Dependency& edge) {
  if (!is_between_lanes(body_, edge)) return;
  edges_into_.resize(body_.tasks.size());
  edges_from_.resize(body_.tasks.size());
  edges_into_[edge.to].push_back(narrow(edges_.size()));
  edges_from_[edge.from].push_back(narrow(edges_.size()));
  edges_.push_back({.to_lane = body_.tasks[edge.to].lane, .distance = edge.distance});
}

std::optional<SimTime> LoopRun::run_pass() {
  for (std::int64_t before = passes_; passes_ == before;)
    if (!run_instant()) return std::nullopt;
  return now_;
}

/// All events of an instant, whatever their order, before anything is chosen among what they
/// brought: so the choice depends on what there is and not on who came first in a list.
bool LoopRun::run_instant() {
  if (events_.empty()) return false;
  now_ = events_.front().time;
  auto is_now = [&] { return !events_.empty() && events_.front().time == now_; };
  // Passes that take no time would not let the clock go on.
  for (std::int64_t before = passes_; is_now() && passes_ <= before + 1;) {
    while (is_now()) {
      std::ranges::pop_heap(events_, std::greater<>{});
      Event event = events_.back();
      events_.pop_back();
      handle(event);
    }
    settle_lanes();
    if (!is_now()) settle_servers();
  }
  return true;
}

void LoopRun::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::phase_begins:
      return begin_phase(event.of);
    case EventKind::phase_ends:
      return end_phase(event.of);
    case EventKind::link:
      if (event.stamp != links_[as_index(event.of)].stamp) return;
      for (RequestOwner slot : links_[as_index(event.of)].server.end_service(now_))
        end_part(slot, now_);
      return unsettled_links_.push_back(event.of);
    case EventKind::lane_works:
      if (event.stamp != lanes_[as_index(event.of)].stamp) return;
      for (RequestOwner slot : lanes_[as_index(event.of)].work.end_service(now_))
        end_part(slot, now_);
      return list_mover(event.of);
    case EventKind::lane:
      return unsettled_lanes_.push_back(event.of);
    case EventKind::pass:
      ++passes_;
      pass_ends_.pop_front();
      for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
        if (lanes_[lane].stage == LaneStage::ahead) push(now_, EventKind::lane, narrow(lane));
      return;
  }
}

/// Empties the list and returns its content, valid until the next call. Both keep their memory.
const std::vector<std::int32_t>& LoopRun::taken(std::vector<std::int32_t>& list) {
  taken_.clear();
  taken_.swap(list);
  return taken_;
}

/// Lanes that need no choice. Those that move messages are left to settle_servers.
void LoopRun::settle_lanes() {
  for (std::int32_t number : taken(unsettled_lanes_)) {
    Lane& lane = lanes_[as_index(number)];
    // It has run ahead since the event was planned, and has another one.
    if (lane.time > now_) continue;
    switch (lane.stage) {
      case LaneStage::waits_for_message:
      case LaneStage::between_kernels:
        unserved_lanes_.push_back(number);
        break;
      case LaneStage::runs:
        run_lane(number);
        break;
      case LaneStage::ahead:
        if (lane.pass - passes_ >= kMostAhead) break;
        lane.time = now_;
        run_lane(number);
        break;
      case LaneStage::waits_for_task:
      case LaneStage::waits_for_process:
      case LaneStage::over:
        break;
    }
  }
}

/// Once no event of this instant is left: who gets the links, and what devices move.
void LoopRun::settle_servers() {
  moved_lanes_.clear();
  for (std::int32_t number : taken(unserved_lanes_)) {
    Lane& lane = lanes_[as_index(number)];
    if (lane.time > now_) continue;  // it was listed twice
    if (lane.stage == LaneStage::between_kernels) {
      move_between_kernels(lane);
      moved_lanes_.push_back(number);
    } else if (lane.stage == LaneStage::waits_for_message && !body_.costs.moves_beside) {
      serve_lane(number);
    }
  }
  for (std::int32_t number : taken(unsettled_threads_)) serve_lane(number);
  for (std::int32_t number : moved_lanes_) run_lane(number);
  for (std::int32_t number : taken(unsettled_links_)) {
    Link& link = links_[as_index(number)];
    if (std::optional<SimTime> until = link.server.serve(now_))
      push(*until, EventKind::link, number, ++link.stamp);
  }
}

/// Lists whoever moves the messages of a lane, to be served at this instant.
void LoopRun::list_mover(std::int32_t number) {
  (body_.costs.moves_beside ? unsettled_threads_ : unsettled_lanes_).push_back(number);
}

void LoopRun::serve_lane(std::int32_t number) {
  Lane& lane = lanes_[as_index(number)];
  if (std::optional<SimTime> until = lane.work.serve(now_))
    push(*until, EventKind::lane_works, number, ++lane.stamp);
}

/// As the executor does after a kernel while messages are under way. Messages that arrive meanwhile
/// wait.
void LoopRun::move_between_kernels(Lane& lane) {
  std::vector<Server::Ended> ended;
  lane.time = lane.work.serve_for(body_.costs.between_kernels, now_, ended);
  for (const Server::Ended& part : ended) end_part(part.owner, part.time);
  lane.stage = LaneStage::runs;
}

/// Up to where the lane must wait for others or for the clock.
void LoopRun::run_lane(std::int32_t number) {
  Lane& lane = lanes_[as_index(number)];
  const std::vector<std::int32_t>& tasks = body_.lanes[as_index(number)].tasks;
  lane.stage = LaneStage::runs;
  while (lane.at < tasks.size()) {
    std::int32_t task = tasks[lane.at];
    std::int64_t step = lane.pass - body_.tasks[as_index(task)].lag;
    if (step >= 0 && step < steps_ && !run_task(number, task)) return note_cursor(number);
    ++lane.at;
    if (lane.stage == LaneStage::between_kernels) {
      push(lane.time, EventKind::lane, number);
      return note_cursor(number);
    }
  }
  end_pass(number);
  note_cursor(number);
}

void LoopRun::note_cursor(std::int32_t number) {
  Lane& lane = lanes_[as_index(number)];
  const std::vector<std::int32_t>& tasks = body_.lanes[as_index(number)].tasks;
  std::int64_t next = lane.at < tasks.size() ? tasks[lane.at] : -1 - number;
  cursors_ -= lane.cursor;
  lane.cursor = mix(static_cast<std::uint64_t>(lane.pass), static_cast<std::uint64_t>(next));
  cursors_ += lane.cursor;
}

/// False: it has to wait, and runs later.
bool LoopRun::run_task(std::int32_t number, std::int32_t task) {
  Lane& lane = lanes_[as_index(number)];
  const LoopTask& own = body_.tasks[as_index(task)];
  const SimTime reached = lane.time;
  bool has_edges = !edges_.empty() && !lane.has_passed_edges;
  bool waits = has_edges && !pass_edges(number, task);
  SimTime start = lane.time;
  if (!waits) {
    lane.has_passed_edges = true;
    switch (own.kind) {
      case TaskKind::compute:
        lane.time += own.time;
        if (has_work_ && lane.under_way > 0 && !body_.costs.moves_beside)
          lane.stage = LaneStage::between_kernels;
        break;
      case TaskKind::start:
        start_message(lane, own);
        break;
      case TaskKind::finish:
        start = reached;
        waits = !finish_message(number, own);
        break;
    }
  }
  bool is_finish = own.kind == TaskKind::finish;
  if (waits) {
    if (is_finish && !lane.has_reached) note(lane, {.task = task, .start = reached});
    lane.has_reached = true;
    return false;
  }
  if (is_finish && lane.has_reached) start = TaskRun::kOpen;
  note_end(lane, task, start);
  lane.has_reached = false;
  lane.has_passed_edges = false;
  ++tasks_run_;
  return true;
}

/// Whether all tasks of other lanes that it waits for have run. Then their times are used up.
bool LoopRun::pass_edges(std::int32_t number, std::int32_t task) {
  Lane& lane = lanes_[as_index(number)];
  auto is_open = [&](std::int32_t edge) {
    return lane.pass - body_.tasks[as_index(task)].lag >= edges_[as_index(edge)].distance &&
           edges_[as_index(edge)].ends.empty();
  };
  if (std::ranges::any_of(edges_into_[as_index(task)], is_open)) {
    lane.stage = LaneStage::waits_for_task;
    return false;
  }
  for (std::int32_t edge : edges_into_[as_index(task)]) {
    Edge& own = edges_[as_index(edge)];
    if (lane.pass - body_.tasks[as_index(task)].lag < own.distance) continue;
    lane.time = std::max(lane.time, own.ends.front());
    own.ends.pop_front();
  }
  return true;
}

void LoopRun::note(const Lane& lane, const TaskRun& times) {
  if (lane.pass < first_recorded_ || lane.pass > last_recorded_) return;
  recorded_.push_back(times);
  recorded_.back().pass = static_cast<std::int32_t>(lane.pass);
}

void LoopRun::note_end(const Lane& lane, std::int32_t task, SimTime start) {
  note(lane, {.task = task, .start = start, .end = lane.time});
  if (edges_.empty()) return;
  for (std::int32_t edge : edges_from_[as_index(task)]) {
    Edge& own = edges_[as_index(edge)];
    own.ends.push_back(lane.time);
    Lane& other = lanes_[as_index(own.to_lane)];
    if (other.stage != LaneStage::waits_for_task) continue;
    other.stage = LaneStage::runs;  // and waits again if others are missing
    push(std::max(other.time, now_), EventKind::lane, own.to_lane);
  }
}

void LoopRun::end_pass(std::int32_t number) {
  Lane& lane = lanes_[as_index(number)];
  std::size_t pass = as_index(lane.pass - passes_);
  if (pass_ends_.size() <= pass) pass_ends_.resize(pass + 1);
  LoopState::PassEnd& end = pass_ends_[pass];
  end.time = std::max(end.time, lane.time);
  if (++end.lanes == lanes_.size()) push(end.time, EventKind::pass, 0);
  lane.at = 0;
  ++lane.pass;
  lane.stage = LaneStage::over;
  if (steps_ < std::numeric_limits<std::int64_t>::max() && lane.pass == steps_ + largest_lag_)
    return;
  std::int32_t number_of_process = body_.lanes[as_index(number)].process;
  if (number_of_process < 0) return begin_pass(number, lane.time);
  const LoopProcess& process = body_.processes[as_index(number_of_process)];
  Process& own = processes_[as_index(number_of_process)];
  own.time = std::max(own.time, lane.time);
  lane.stage = LaneStage::waits_for_process;
  if (--own.open > 0) return;
  SimTime begin = own.time + process.rest;
  own = {.open = narrow(process.lanes.size())};
  for (std::int32_t each : process.lanes) begin_pass(each, begin);
}

void LoopRun::begin_pass(std::int32_t number, SimTime time) {
  Lane& lane = lanes_[as_index(number)];
  lane.time = time;
  lane.stage = lane.pass - passes_ >= kMostAhead ? LaneStage::ahead : LaneStage::runs;
  push(time, EventKind::lane, number);
}

void LoopRun::push(SimTime time, EventKind kind, std::int32_t of, std::uint32_t stamp) {
  events_.push_back({time, kind, of, stamp});
  std::ranges::push_heap(events_, std::greater<>{});
}

void LoopRun::record(std::int64_t first_pass, std::int64_t last_pass) {
  first_recorded_ = first_pass;
  last_recorded_ = last_pass;
}

void LoopRun::record_messages(std::int64_t step) {
  recorded_step_ = step;
  message_ends_.resize(body_.messages.size());
}

/// A copy, so that the list need not grow again.
std::vector<TaskRun> LoopRun::take_recorded() {
  std::vector<TaskRun> taken = recorded_;
  recorded_.clear();
  return taken;
}

}  // namespace troika
