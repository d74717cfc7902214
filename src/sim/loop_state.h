// The state of a run of a loop: all that its future depends on. States that are equal have equal
// futures, at whatever time and after however many passes they are reached.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/server.h"

namespace troika {

enum class LaneStage : std::uint8_t {
  runs,               ///< At its next event.
  between_kernels,    ///< A kernel has ended; it may move messages before the next task.
  waits_for_message,  ///< And moves messages meanwhile.
  waits_for_task,     ///< Of another lane.
  waits_for_process,  ///< For the other lanes of its process to end the pass that it has ended.
  ahead,              ///< Too far ahead of the other lanes.
  over,               ///< It has no more steps.
};

enum class MessageStage : std::uint8_t {
  gathers,    ///< Some have not started it.
  begins,     ///< All will have, at a time to come.
  under_way,  ///< In a phase.
  ends,       ///< In the latency of a phase.
  over,
};

/// Times are relative to the clock, passes and steps to the passes that all lanes have ended.
/// Whatever was over at some time in the past, and does not matter any more, is 0.
struct LoopState {
  struct Lane {
    std::int32_t next = -1;  ///< Task; -1: none of this pass.
    std::int32_t pass = 0;
    SimTime time{};
    std::int32_t under_way = 0;
    bool has_reached = false, has_passed_edges = false;
    LaneStage stage = LaneStage::runs;

    bool operator==(const Lane&) const = default;
  };
  struct Message {
    std::int32_t message = 0, step = 0;
    std::int32_t started = 0, finished = 0, phase = 0, repeat = 0, open = 0;
    MessageStage stage = MessageStage::gathers;
    SimTime time{};

    bool operator==(const Message&) const = default;
  };
  /// A busy lane or link.
  struct Busy {
    std::int32_t of = 0;
    Server server;

    bool operator==(const Busy&) const = default;
  };
  struct Process {
    std::int32_t open = 0;  ///< Lanes that have not ended its pass.
    SimTime time{};         ///< The latest end of the others.

    bool operator==(const Process&) const = default;
  };
  struct PassEnd {
    std::size_t lanes = 0;  ///< That have ended it.
    SimTime time{};

    bool operator==(const PassEnd&) const = default;
  };

  std::vector<Lane> lanes{};
  std::vector<Message> messages{};  ///< Those that have been started, in order.
  std::vector<Busy> working_lanes{}, links{};
  std::vector<std::vector<SimTime>> edges{};
  std::vector<Process> processes{};
  std::vector<PassEnd> pass_ends{};  ///< Of passes that some lanes have ended and others have not.

  bool operator==(const LoopState&) const = default;
};

}  // namespace troika
