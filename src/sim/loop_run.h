// Runs a loop body in virtual time, event by event, in whole nanoseconds. All rules depend on times
// and on what messages are, never on the number of a lane, so that a folded loop takes the same
// time as the loop of all devices.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "sim/loop_body.h"
#include "sim/server.h"

namespace troika {

/// Borrows the body. Lanes run ahead of the clock as far as they wait for nobody; whatever must be
/// decided in order of time (who gets a link, what a device moves next) waits for the clock.
class LoopRun {
 public:
  /// `steps`: lanes begin no more steps than this.
  explicit LoopRun(const LoopBody& body,
                   std::int64_t steps = std::numeric_limits<std::int64_t>::max());

  /// Runs on until the last lane has ended its next pass; its end. Nothing if the loop has come to
  /// its end, or no lane can go on.
  std::optional<SimTime> run_pass();
  /// Passes that all lanes have ended.
  std::int64_t passes() const { return passes_; }
  /// All that the future depends on, relative to the clock and to the number of passes. Called
  /// right after run_pass.
  std::vector<std::int64_t> state() const;

  /// Keeps the times of the tasks that run in these passes.
  void record(std::int64_t first_pass, std::int64_t last_pass);
  struct TaskTimes {
    SimTime start{}, end{};
  };
  /// By task; of those that ran.
  const std::vector<std::optional<TaskTimes>>& recorded() const { return recorded_; }

 private:
  enum class LaneState : std::uint8_t {
    runs,               ///< At its next event.
    between_kernels,    ///< A kernel has ended; it may move messages before the next task.
    waits_for_message,  ///< And moves messages meanwhile.
    waits_for_task,     ///< Of another lane.
    ahead,              ///< Too far ahead of the other lanes.
    over,               ///< It has no more steps.
  };
  struct Lane {
    std::vector<std::int32_t> tasks{};  // in the order of a pass
    std::size_t at = 0;                 // next of them
    std::int64_t pass = 0;
    SimTime time{};                    // end of its last task
    std::optional<SimTime> reached{};  // when it came to a task that has to wait
    bool has_passed_edges = false;     // the next task has waited for those of other lanes
    int under_way = 0;                 // messages that it has started and not finished
    LaneState state = LaneState::runs;
    std::uint32_t stamp = 0;  // of its last event as a server
    Server work;              // on messages
  };
  /// A message of a step.
  struct Slot {
    std::int64_t step = 0;
    std::int32_t started = 0, finished = 0;
    std::int32_t phase = 0, repeat = 0;
    std::int32_t open = 0;  // parts of the phase that have not ended
    bool over = false;
    SimTime time{};                     // of the last start; of the last part's end; of its end
    std::vector<std::int32_t> waiting;  // lanes
  };
  /// A dependency between tasks of two lanes.
  struct Edge {
    std::int32_t to_lane = 0;
    std::int64_t distance = 0;
    std::deque<SimTime> ends{};  // of the one task that the other has not used yet
  };
  struct Link {
    Server server;
    std::uint32_t stamp = 0;  // of its last event
  };
  enum class EventKind : std::uint8_t { phase_begins, phase_ends, link, lane_works, lane, pass };
  struct Event {
    SimTime time{};
    EventKind kind = EventKind::lane;
    std::int32_t of = 0;
    std::uint32_t stamp = 0;  // of a server: it has another event if they differ

    bool operator>(const Event& other) const { return time > other.time; }
  };
  struct PassEnd {
    std::size_t lanes = 0;  // that have ended it
    SimTime time{};
  };

  void run_instant();
  void handle(const Event& event);
  void settle_lanes();
  void settle_servers();
  void push(SimTime time, EventKind kind, std::int32_t of, std::uint32_t stamp = 0);

  void run_lane(std::int32_t number);
  bool run_task(std::int32_t number, std::int32_t task);
  bool pass_edges(std::int32_t number, std::int32_t task);
  void move_between_kernels(Lane& lane);
  void note_end(const Lane& lane, std::int32_t task, SimTime start);
  void end_pass(std::int32_t number);
  void wake(std::int32_t number);

  void start_message(Lane& lane, const LoopTask& task);
  bool finish_message(std::int32_t number, const LoopTask& task);
  std::int32_t slot_of(const Lane& lane, const LoopTask& task) const;
  std::int32_t message_of(std::int32_t slot) const;
  const MessagePhase& phase_of(std::int32_t slot) const;
  void begin_phase(std::int32_t number);
  void end_part(std::int32_t number, SimTime time);
  void end_phase(std::int32_t number);

  // loop_state.cpp
  void note_slot(std::int32_t slot, std::vector<std::int64_t>& text) const;
  void note_lanes(std::vector<std::int64_t>& text) const;
  void note_messages(std::vector<std::int64_t>& text) const;

  const LoopBody& body_;
  const std::int64_t steps_, largest_lag_, slots_per_message_;
  const bool has_work_;  // some message is moved by its members
  std::vector<Lane> lanes_;
  std::vector<Slot> slots_;  // by message and step
  std::vector<Link> links_;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::int32_t>> edges_into_, edges_from_;  // by task
  std::vector<std::vector<std::int32_t>> members_;  // by message: lanes, one per start
  std::vector<Event> events_;                       // a heap, the earliest in front
  SimTime now_{};
  // To be looked at before this instant is over; the second ones once no event of it is left.
  std::vector<std::int32_t> unsettled_lanes_, unserved_lanes_, unsettled_links_;
  std::vector<PassEnd> pass_ends_;  // by pass
  std::int64_t passes_ = 0;
  std::int64_t first_recorded_ = -1, last_recorded_ = -1;
  std::vector<std::optional<TaskTimes>> recorded_;  // by task
};

}  // namespace troika
