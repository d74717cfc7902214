#include "sim/loop_state.h"

#include <algorithm>
#include <bit>

#include "sim/loop_run.h"

namespace troika {
namespace {

constexpr std::int64_t kBits = 64;

/// Whatever comes next comes later, so when exactly it was does not matter.
SimTime from_now_on(SimTime time, SimTime now) { return std::max(time - now, SimTime{}); }

}  // namespace

LoopState LoopRun::state() const {
  LoopState state;
  state.lanes.reserve(lanes_.size());
  auto rename = [&](RequestOwner slot) { return in_state(slot); };
  auto add_busy = [&](std::vector<LoopState::Busy>& busy, std::size_t number,
                      const Server& server) {
    if (server.is_idle()) return;
    busy.push_back({static_cast<std::int32_t>(number), server});
    busy.back().server.shift(SimTime{} - now_, rename);
  };
  for (std::size_t number = 0; number < lanes_.size(); ++number) {
    const Lane& lane = lanes_[number];
    const std::vector<std::int32_t>& tasks = body_.lanes[number].tasks;
    state.lanes.push_back({.next = lane.at < tasks.size() ? tasks[lane.at] : -1,
                           .pass = static_cast<std::int32_t>(lane.pass - passes_),
                           .time = from_now_on(lane.time, now_),
                           .under_way = lane.under_way,
                           .has_reached = lane.has_reached,
                           .has_passed_edges = lane.has_passed_edges,
                           .stage = lane.stage});
    add_busy(state.working_lanes, number, lane.work);
  }
  note_messages(state);
  for (std::size_t number = 0; number < links_.size(); ++number)
    add_busy(state.links, number, links_[number].server);
  for (const Edge& edge : edges_) {
    state.edges.emplace_back();
    for (SimTime end : edge.ends) state.edges.back().push_back(from_now_on(end, now_));
  }
  for (const Process& process : processes_)
    state.processes.push_back({process.open, from_now_on(process.time, now_)});
  for (const LoopState::PassEnd& end : pass_ends_)
    state.pass_ends.push_back({end.lanes, from_now_on(end.time, now_)});
  return state;
}

/// Slots are used in turn: the first one is that of the step that is as many passes old as have
/// ended.
std::int32_t LoopRun::in_state(std::int32_t slot) const {
  std::int64_t own = slot % slots_per_message_ - passes_ % slots_per_message_;
  return static_cast<std::int32_t>(slot / slots_per_message_ * slots_per_message_ +
                                   (own < 0 ? own + slots_per_message_ : own));
}

std::int32_t LoopRun::from_state(std::int32_t slot) const {
  std::int64_t own = slot % slots_per_message_ + passes_ % slots_per_message_;
  return static_cast<std::int32_t>(slot / slots_per_message_ * slots_per_message_ +
                                   own % slots_per_message_);
}

void LoopRun::note_messages(LoopState& state) const {
  state.messages.reserve(open_count_);
  for (std::size_t word = 0; word < open_slots_.size(); ++word) {
    for (std::uint64_t bits = open_slots_[word]; bits != 0; bits &= bits - 1) {
      auto number = static_cast<std::int32_t>(static_cast<std::int64_t>(word) * kBits +
                                              std::countr_zero(bits));
      const Slot& slot = slots_[as_index(number)];
      // The latency counts from a time in the past.
      SimTime time =
          slot.stage == MessageStage::ends ? slot.time - now_ : from_now_on(slot.time, now_);
      state.messages.push_back({message_of(number), static_cast<std::int32_t>(slot.step - passes_),
                                slot.started, slot.finished, slot.phase, slot.repeat, slot.open,
                                slot.stage, time});
      // Slots of a message are used in turn, so its steps may come in another order.
      for (std::size_t at = state.messages.size() - 1; at > 0; --at) {
        LoopState::Message &own = state.messages[at], &before = state.messages[at - 1];
        if (before.message != own.message || before.step < own.step) break;
        std::swap(before, own);
      }
    }
  }
}

bool LoopRun::is_settled() const {
  return (events_.empty() || events_.front().time > now_) && unsettled_lanes_.empty() &&
         unserved_lanes_.empty() && unsettled_links_.empty() && unsettled_threads_.empty();
}

void LoopRun::clear() {
  for (std::size_t word = 0; word < open_slots_.size(); ++word)
    for (std::uint64_t& bits = open_slots_[word]; bits != 0; bits &= bits - 1)
      slots_[word * kBits + static_cast<std::size_t>(std::countr_zero(bits))] = {};
  open_count_ = 0;
  slots_.resize(body_.messages.size() * as_index(slots_per_message_));
  open_slots_.resize(slots_.size() / kBits + 1);
  for (Link& link : links_) link.server.clear();
  events_.clear();
  unsettled_lanes_.clear(), unserved_lanes_.clear(), unsettled_links_.clear();
  unsettled_threads_.clear();
  pass_ends_.clear();
  recorded_.clear();
}

void LoopRun::restart() {
  LoopState state;
  for (const LoopLane& lane : body_.lanes)
    state.lanes.push_back({.next = lane.tasks.empty() ? -1 : lane.tasks[0]});
  state.edges.resize(edges_.size());
  for (const LoopProcess& process : body_.processes)
    state.processes.push_back({.open = static_cast<std::int32_t>(process.lanes.size())});
  resume(state, {});
}

void LoopRun::resume(const LoopState& state, const Moment& moment) {
  clear();
  now_ = moment.time;
  passes_ = moment.passes;
  for (LoopState::PassEnd end : state.pass_ends) {
    end.time += now_;
    if (end.lanes == lanes_.size()) push(end.time, EventKind::pass, 0);
    pass_ends_.push_back(end);
  }
  for (std::size_t edge = 0; edge < edges_.size(); ++edge) {
    edges_[edge].ends.clear();
    for (SimTime end : state.edges[edge]) edges_[edge].ends.push_back(now_ + end);
  }
  processes_.clear();
  for (const LoopState::Process& process : state.processes)
    processes_.push_back({process.open, now_ + process.time});
  for (const LoopState::Message& message : state.messages) resume_message(message);
  cursors_ = 0;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
    resume_lane(static_cast<std::int32_t>(lane), state.lanes[lane]);
  resume_servers(state);
}

void LoopRun::resume_message(const LoopState::Message& from) {
  std::int64_t step = passes_ + from.step;
  auto number =
      static_cast<std::int32_t>(from.message * slots_per_message_ + step % slots_per_message_);
  open_slot(number);
  slots_[as_index(number)] = {.step = step,
                              .started = from.started,
                              .finished = from.finished,
                              .phase = from.phase,
                              .repeat = from.repeat,
                              .open = from.open,
                              .stage = from.stage,
                              .time = now_ + from.time};
  if (from.stage == MessageStage::begins) push(now_ + from.time, EventKind::phase_begins, number);
  if (from.stage == MessageStage::ends)
    push(now_ + from.time + phase_of(number).latency, EventKind::phase_ends, number);
}

void LoopRun::resume_lane(std::int32_t number, const LoopState::Lane& from) {
  const std::vector<std::int32_t>& tasks = body_.lanes[as_index(number)].tasks;
  Lane& lane = lanes_[as_index(number)];
  lane = {.at = from.next < 0 ? tasks.size() : as_index(body_.places[as_index(from.next)]),
          .pass = passes_ + from.pass,
          .time = now_ + from.time,
          .has_reached = from.has_reached,
          .has_passed_edges = from.has_passed_edges,
          .under_way = from.under_way,
          .stage = from.stage,
          .stamp = lane.stamp + 1,
          .work = Server(body_.costs.work_chunk)};
  note_cursor(number);
  if (lane.stage == LaneStage::waits_for_message)
    slots_[as_index(slot_of(lane, body_.tasks[as_index(from.next)]))].waiting.push_back(number);
  // At rest, at the very first, all are to begin at this instant.
  bool is_planned = lane.time > now_ || lane.stage == LaneStage::runs;
  bool waits_for_lanes =
      lane.stage == LaneStage::waits_for_task || lane.stage == LaneStage::waits_for_process;
  if (is_planned && lane.stage != LaneStage::over && !waits_for_lanes &&
      (has_work_ || lane.stage != LaneStage::waits_for_message))
    push(lane.time, EventKind::lane, number);
}

void LoopRun::resume_servers(const LoopState& state) {
  auto rename = [&](RequestOwner slot) { return from_state(slot); };
  for (const LoopState::Busy& busy : state.working_lanes) {
    Lane& lane = lanes_[as_index(busy.of)];
    lane.work = busy.server;
    lane.work.shift(now_, rename);
    bool serves = lane.stage == LaneStage::waits_for_message && lane.time <= now_;
    if (serves || body_.costs.moves_beside) serve_lane(busy.of);
  }
  for (const LoopState::Busy& busy : state.links) {
    Link& link = links_[as_index(busy.of)];
    link.server = busy.server;
    link.server.shift(now_, rename);
    if (std::optional<SimTime> until = link.server.serve(now_))
      push(*until, EventKind::link, busy.of, ++link.stamp);
  }
}

}  // namespace troika
