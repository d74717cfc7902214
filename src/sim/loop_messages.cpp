// Messages of a run: gathered from their members, then phase by phase over links and devices.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "sim/loop_run.h"

namespace troika {

std::int32_t LoopRun::slot_of(const Lane& lane, const LoopTask& task) const {
  std::int64_t step = lane.pass - task.lag;
  return static_cast<std::int32_t>(task.message * slots_per_message_ + step % slots_per_message_);
}

std::int32_t LoopRun::message_of(std::int32_t slot) const {
  return static_cast<std::int32_t>(slot / slots_per_message_);
}

void LoopRun::start_message(Lane& lane, const LoopTask& task) {
  std::int32_t number = slot_of(lane, task);
  Slot& slot = slots_[as_index(number)];
  if (slot.started == 0) {
    slot.step = lane.pass - task.lag;
    open_slot(number);
  }
  TROIKA_CHECK_EQ(slot.step, lane.pass - task.lag);
  lane.time += task.time;
  ++lane.under_way;
  slot.time = std::max(slot.time, lane.time);
  if (++slot.started < body_.messages[as_index(task.message)].starts) return;
  slot.stage = MessageStage::begins;
  push(slot.time, EventKind::phase_begins, number);
}

void LoopRun::open_slot(std::int32_t number) {
  ++open_count_;
  open_slots_[as_index(number) / 64] |= std::uint64_t{1} << (as_index(number) % 64);
}

void LoopRun::close_slot(std::int32_t number) {
  --open_count_;
  open_slots_[as_index(number) / 64] &= ~(std::uint64_t{1} << (as_index(number) % 64));
  std::vector<std::int32_t> waiting = std::move(slots_[as_index(number)].waiting);
  waiting.clear();
  slots_[as_index(number)] = {.waiting = std::move(waiting)};
}

/// False: it is not over.
bool LoopRun::finish_message(std::int32_t number, const LoopTask& task) {
  Lane& lane = lanes_[as_index(number)];
  std::int32_t at = slot_of(lane, task);
  Slot& slot = slots_[as_index(at)];
  if (slot.stage != MessageStage::over || slot.step != lane.pass - task.lag) {
    slot.waiting.push_back(number);
    lane.stage = LaneStage::waits_for_message;
    if (has_work_) push(lane.time, EventKind::lane, number);
    return false;
  }
  lane.time = std::max(lane.time, slot.time) + task.time;
  --lane.under_way;
  if (++slot.finished == body_.messages[as_index(task.message)].finishes) close_slot(at);
  return true;
}

const MessagePhase& LoopRun::phase_of(std::int32_t slot) const {
  const LoopMessage& message = body_.messages[as_index(message_of(slot))];
  std::int32_t phase = slots_[as_index(slot)].phase;
  TROIKA_CHECK(phase < message.phases, "a message continues after its last phase");
  return body_.phases[as_index(message.first_phase + phase)];
}

void LoopRun::begin_phase(std::int32_t number) {
  Slot& slot = slots_[as_index(number)];
  const LoopMessage& message = body_.messages[as_index(message_of(number))];
  const MessagePhase& phase = phase_of(number);
  Request request{.urgency = message.urgency, .order = message.order, .arrived = now_};
  slot.stage = MessageStage::under_way;
  slot.open = 1;  // so that it does not end before all its parts are there
  slot.time = now_;
  for (std::int32_t at = phase.first_load; at < phase.first_load + phase.loads; ++at) {
    const LinkLoad& load = body_.loads[as_index(at)];
    if (load.time == SimTime{}) continue;
    request.time = load.time;
    links_[as_index(load.link)].server.add(request, number);
    unsettled_links_.push_back(load.link);
    ++slot.open;
  }
  request.time = phase.work;
  for (std::int32_t end = phase.work > SimTime{} ? message.first_end : -1; end >= 0;
       end = body_.tasks[as_index(end)].next_end) {
    if (body_.tasks[as_index(end)].kind != TaskKind::start) continue;
    std::int32_t lane = body_.tasks[as_index(end)].lane;
    lanes_[as_index(lane)].work.add(request, number);
    list_mover(lane);
    ++slot.open;
  }
  end_part(number, now_);
}

void LoopRun::end_part(std::int32_t number, SimTime time) {
  Slot& slot = slots_[as_index(number)];
  slot.time = std::max(slot.time, time);
  if (--slot.open > 0) return;
  slot.stage = MessageStage::ends;
  push(slot.time + phase_of(number).latency, EventKind::phase_ends, number);
}

void LoopRun::end_phase(std::int32_t number) {
  Slot& slot = slots_[as_index(number)];
  if (++slot.repeat == phase_of(number).repeats) {
    slot.repeat = 0;
    ++slot.phase;
  }
  if (slot.phase < body_.messages[as_index(message_of(number))].phases) return begin_phase(number);
  slot.stage = MessageStage::over;
  slot.time = now_;
  if (slot.step == recorded_step_) message_ends_[as_index(message_of(number))] = now_;
  for (std::int32_t lane : taken(slot.waiting)) wake(lane);
}

/// A device that moves another message at this moment ends its chunk first.
void LoopRun::wake(std::int32_t number) {
  Lane& lane = lanes_[as_index(number)];
  if (lane.time <= now_ && !body_.costs.moves_beside) {
    lane.time = lane.work.border(now_);
    ++lane.stamp;
    for (RequestOwner slot : lane.work.stop(lane.time)) end_part(slot, lane.time);
  }
  run_lane(number);
}

}  // namespace troika
