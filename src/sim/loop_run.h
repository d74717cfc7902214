// Runs a loop body in virtual time, event by event, in whole nanoseconds. All rules depend on times
// and on what messages are, never on the number of a lane, so that a folded loop takes the same
// time as the loop of all devices.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "sim/loop_body.h"
#include "sim/loop_state.h"
#include "sim/server.h"

namespace troika {

/// When a task ran in a pass. A lane that comes to a finish task and has to wait is noted at once,
/// and again when the message is over.
struct TaskRun {
  static constexpr SimTime kOpen{std::numeric_limits<std::int64_t>::min()};

  std::int32_t task = 0;
  std::int32_t pass = 0;
  SimTime start = kOpen, end = kOpen;  ///< Open: in the other note.
};

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
  /// Runs on to the next instant at which anything happens. False: there is none.
  bool run_instant();
  SimTime now() const { return now_; }
  /// Passes that all lanes have ended.
  std::int64_t passes() const { return passes_; }

  /// Keeps the times of the tasks that run in these passes.
  void record(std::int64_t first_pass, std::int64_t last_pass);
  /// Those kept since the last call.
  std::vector<TaskRun> take_recorded();
  /// Keeps when the messages of this step are over.
  void record_messages(std::int64_t step);
  /// By message.
  const std::vector<SimTime>& message_ends() const { return message_ends_; }

  // loop_state.cpp
  /// All that the future depends on. Called between two instants.
  LoopState state() const;
  /// Continues from a state, of this body or of one that has all its tasks and messages, as if it
  /// had been reached at this time and after so many passes.
  struct Moment {
    SimTime time{};
    std::int64_t passes = 0;
  };
  void resume(const LoopState& state, const Moment& moment);
  /// At rest, before the first pass.
  void restart();
  /// A state would not lack anything: false only if passes take no time.
  bool is_settled() const;
  /// A hash of where all lanes stand.
  std::uint64_t cursors() const { return cursors_; }
  /// Tasks that have run, in all passes.
  std::int64_t tasks_run() const { return tasks_run_; }

 private:
  struct Lane {
    std::size_t at = 0;  // next of its tasks
    std::int64_t pass = 0;
    SimTime time{};                 // end of its last task
    bool has_reached = false;       // noted that it has come to a task that has to wait
    bool has_passed_edges = false;  // the next task has waited for those of other lanes
    int under_way = 0;              // messages that it has started and not finished
    LaneStage stage = LaneStage::runs;
    std::uint32_t stamp = 0;   // of its last event as a server
    std::uint64_t cursor = 0;  // its part of cursors_
    Server work{SimTime{}};    // on messages, by the lane itself or by a thread beside it
  };
  /// A message of a step.
  struct Slot {
    std::int64_t step = 0;
    std::int32_t started = 0, finished = 0;
    std::int32_t phase = 0, repeat = 0;
    std::int32_t open = 0;  // parts of the phase that have not ended
    MessageStage stage = MessageStage::gathers;
    SimTime time{};                       // of the last start; of the last part's end; of its end
    std::vector<std::int32_t> waiting{};  // lanes
  };
  /// A dependency between tasks of two lanes.
  struct Edge {
    std::int32_t to_lane = 0;
    std::int64_t distance = 0;
    std::deque<SimTime> ends{};  // of the one task that the other has not used yet
  };
  /// Of the devices that run a pass together.
  struct Process {
    std::int32_t open = 0;  // lanes that have not ended it
    SimTime time{};         // the latest end of the others
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
  void handle(const Event& event);
  const std::vector<std::int32_t>& taken(std::vector<std::int32_t>& list);
  void settle_lanes();
  void settle_servers();
  void list_mover(std::int32_t number);
  void serve_lane(std::int32_t number);
  void push(SimTime time, EventKind kind, std::int32_t of, std::uint32_t stamp = 0);

  void add_edge(const Dependency& edge);
  void run_lane(std::int32_t number);
  bool run_task(std::int32_t number, std::int32_t task);
  bool pass_edges(std::int32_t number, std::int32_t task);
  void move_between_kernels(Lane& lane);
  void note_end(const Lane& lane, std::int32_t task, SimTime start);
  void note(const Lane& lane, const TaskRun& times);
  void note_cursor(std::int32_t number);
  void end_pass(std::int32_t number);
  void begin_pass(std::int32_t number, SimTime time);

  // loop_messages.cpp
  void wake(std::int32_t number);
  void start_message(Lane& lane, const LoopTask& task);
  bool finish_message(std::int32_t number, const LoopTask& task);
  void open_slot(std::int32_t number);
  void close_slot(std::int32_t number);
  std::int32_t slot_of(const Lane& lane, const LoopTask& task) const;
  std::int32_t message_of(std::int32_t slot) const;
  const MessagePhase& phase_of(std::int32_t slot) const;
  void begin_phase(std::int32_t number);
  void end_part(std::int32_t number, SimTime time);
  void end_phase(std::int32_t number);

  // loop_state.cpp
  std::int32_t in_state(std::int32_t slot) const;
  std::int32_t from_state(std::int32_t slot) const;
  void note_messages(LoopState& state) const;
  void clear();
  void resume_lane(std::int32_t number, const LoopState::Lane& from);
  void resume_message(const LoopState::Message& from);
  void resume_servers(const LoopState& state);

  const LoopBody& body_;
  const std::int64_t steps_, largest_lag_, slots_per_message_;
  const bool has_work_;  // some message is moved by its members
  std::vector<Lane> lanes_;
  std::vector<Slot> slots_;                // by message and step
  std::vector<std::uint64_t> open_slots_;  // one bit each
  std::size_t open_count_ = 0;             // of these bits
  std::vector<Link> links_;
  std::vector<Process> processes_;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::int32_t>> edges_into_, edges_from_;  // by task; empty if none
  std::vector<Event> events_;                                       // a heap, the earliest in front
  SimTime now_{};
  // To be looked at before this instant is over; the second ones once no event of it is left.
  std::vector<std::int32_t> unsettled_lanes_, unserved_lanes_, unsettled_links_;
  std::vector<std::int32_t> unsettled_threads_;  // of these lanes, which move messages beside them
  std::vector<std::int32_t> taken_, moved_lanes_;  // kept for their memory
  std::deque<LoopState::PassEnd> pass_ends_;       // of passes that are not over
  std::int64_t passes_ = 0;
  std::uint64_t cursors_ = 0;
  std::int64_t tasks_run_ = 0;
  std::int64_t first_recorded_ = -1, last_recorded_ = -1;
  std::vector<TaskRun> recorded_;
  std::int64_t recorded_step_ = -1;  // of messages
  std::vector<SimTime> message_ends_;
};

}  // namespace troika
