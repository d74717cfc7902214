// The state of a run as numbers, which are equal whenever the run has come back to
// the same situation at a later time.
#include <algorithm>
#include <array>

#include "sim/loop_run.h"

namespace troika {

std::vector<std::int64_t> LoopRun::state() const {
  std::vector<std::int64_t> text;
  note_lanes(text);
  note_messages(text);
  for (const Edge& edge : edges_) {
    text.push_back(std::ssize(edge.ends));
    for (SimTime end : edge.ends) text.push_back((end - now_).count);
  }
  for (const Link& link : links_)
    link.server.describe(
        now_, [&](RequestOwner slot, auto& to) { note_slot(slot, to); }, text);
  return text;
}

/// A message of a step, counted from the passes that are over.
void LoopRun::note_slot(std::int32_t slot, std::vector<std::int64_t>& text) const {
  text.insert(text.end(), {message_of(slot), slots_[as_index(slot)].step - passes_});
}

void LoopRun::note_lanes(std::vector<std::int64_t>& text) const {
  for (const Lane& lane : lanes_) {
    text.insert(text.end(), {static_cast<std::int64_t>(lane.at), lane.pass - passes_,
                             (lane.time - now_).count, lane.under_way,
                             lane.has_passed_edges ? 1 : 0, static_cast<std::int64_t>(lane.state)});
    lane.work.describe(
        now_, [&](RequestOwner slot, auto& to) { note_slot(slot, to); }, text);
  }
}

void LoopRun::note_messages(std::vector<std::int64_t>& text) const {
  for (std::size_t message = 0; message < body_.messages.size(); ++message) {
    std::vector<std::array<std::int64_t, 9>> open;  // in the order of steps
    for (std::int64_t at = 0; at < slots_per_message_; ++at) {
      const Slot& slot = slots_[message * as_index(slots_per_message_) + as_index(at)];
      if (slot.started == 0) continue;
      open.push_back({static_cast<std::int64_t>(message), slot.step - passes_, slot.started,
                      slot.finished, slot.phase, slot.repeat, slot.open, slot.over ? 1 : 0,
                      (slot.time - now_).count});
    }
    std::ranges::sort(open);
    text.push_back(std::ssize(open));
    for (const auto& numbers : open) text.insert(text.end(), numbers.begin(), numbers.end());
  }
  std::vector<std::array<std::int64_t, 4>> events;
  for (const Event& event : events_) {
    // All other events follow from the lanes and the links.
    if (event.kind != EventKind::phase_begins && event.kind != EventKind::phase_ends) continue;
    events.push_back({(event.time - now_).count, static_cast<std::int64_t>(event.kind),
                      message_of(event.of), slots_[as_index(event.of)].step - passes_});
  }
  std::ranges::sort(events);
  text.push_back(std::ssize(events));
  for (const auto& numbers : events) text.insert(text.end(), numbers.begin(), numbers.end());
}

}  // namespace troika
