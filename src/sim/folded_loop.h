// The loop body of a folded graph that changes a little at a time, as a search changes a plan.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>

#include "base/hash.h"
#include "sim/loop_body.h"

namespace troika {

/// Which tasks of the former body a change concerns.
struct LoopChange {
  /// Nothing is as it was: numbers of tasks and messages have another meaning.
  bool is_fresh = true;
  /// By lane, ascending: places in the former list. The tasks from a border up to the next one that
  /// still has the same number are others now, or new ones come before the border.
  std::vector<std::vector<std::int32_t>> borders;
  /// By former task: where it stood.
  std::span<const std::int32_t> places;
  /// By lane: how many tasks it had.
  std::vector<std::int32_t> lengths;
};

/// Tasks and messages keep their numbers while nothing about them changes, and get new ones if
/// anything does: equal numbers mean equal tasks, and a message is its ends and its phases. So what
/// was simulated for the former body can be compared with what is simulated for this one.
class FoldedLoop {
 public:
  /// Returns the loop body of a graph that will not change.
  static LoopBody body_of(const FoldedGraph& graph) { return make(graph).body; }

  LoopChange change_to(const FoldedGraph& graph);
  /// Takes the last change back. There must be one since then.
  void undo();

  const LoopBody& body() const { return now_.body; }
  const FoldedGraph& graph() const { return now_.graph; }

 private:
  struct HashCall {
    std::size_t operator()(const FoldedCall& call) const {
      auto word = [](std::int32_t high, std::int32_t low) {
        return static_cast<std::uint64_t>(high) << 32 | static_cast<std::uint32_t>(low);
      };
      return mix(mix(word(call.of, call.kind), word(call.device, call.part)),
                 static_cast<std::uint64_t>(call.micro_batch));
    }
  };
  struct Parts {
    LoopBody body;
    std::unordered_map<FoldedCall, std::int32_t, HashCall> messages;
    std::vector<std::int32_t> tasks_of_lag;  // how many
    std::int32_t with_work = 0;              // messages that their members move
    FoldedGraph graph;
  };
  /// Tasks [begin, end) of the former list of a lane give way to [new_begin, new_end) of the graph.
  struct Hunk {
    std::int32_t begin, end, new_begin, new_end;
  };
  using Hunks = std::vector<std::vector<Hunk>>;  // by lane
  /// The state before a change, to take it back.
  struct Former {
    std::optional<Parts> all{};  // if it was fresh; otherwise:
    struct OneLane {
      std::int32_t number;
      LoopLane lane;
      std::vector<FoldedTask> tasks;
    };
    std::vector<OneLane> lanes{};
    std::vector<std::pair<FoldedCall, std::int32_t>> messages{};  // -1: none
    std::vector<std::int32_t> places{}, tasks_of_lag{};
    std::int32_t with_work = 0;
    std::size_t tasks = 0, all_messages = 0, phases = 0, loads = 0;  // how many there were
  };

  static Parts make(const FoldedGraph& graph);
  LoopChange make_again(const FoldedGraph& graph);
  bool can_follow(const FoldedGraph& graph) const;
  Hunks find_hunks(const FoldedGraph& graph) const;
  std::vector<FoldedCall> calls_of(const FoldedGraph& graph, const Hunks& hunks) const;
  void add_ends(const std::vector<FoldedCall>& calls, Hunks& hunks) const;
  void remember();
  void replace_messages(const std::vector<FoldedCall>& calls);
  void replace_tasks(std::int32_t lane, const std::vector<Hunk>& hunks, const FoldedGraph& graph);
  static void add(Parts& parts, std::int32_t lane, const FoldedTask& task);

  Parts now_;
  std::optional<Former> former_;
};

}  // namespace troika
