// The memory that messages of a plan take in addition to the buffers that they move.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "lower/choose_algorithms.h"
#include "lower/planned_calls.h"
#include "taskgraph/folded_graph.h"

namespace troika {

/// Each distinct call is looked at once, whichever devices take part. Borrows the plan.
class MessageScratch {
 public:
  explicit MessageScratch(const ProgramPlan& plan);

  void set_classes(const Classes& classes);

  /// The most that a device of the class needs for its part in a message. A role can need more than
  /// another one (the root of a tree), and devices of a class have several; bind is exact.
  /// `start`: of the class's first device; `buffer`: of the member's buffer, as it lies.
  Bytes of_class(const PlannedTask& start, Bytes buffer, std::int32_t a_class);

 private:
  /// What messages of one redistribution carry.
  struct Elements {
    CallKind call;
    const Moves* moves;
    std::int64_t bytes, scale;
    DType dtype;
    bool greatest;

    auto operator<=>(const Elements&) const = default;
  };
  using ByMember = std::vector<Bytes>;

  Bytes find_greatest(const PlannedTask& start, const Elements& elements, std::int32_t a_class);
  const ByMember& members_of(const PlannedTask& end, const Elements& elements);
  const ByMember& count(const PlannedCall& call);

  const ProgramPlan& plan_;
  const LinkCosts links_;
  AlgorithmTable algorithms_;
  std::vector<std::vector<std::int32_t>> devices_;                              // by class
  std::map<std::tuple<Elements, std::int32_t, std::int32_t>, Bytes> greatest_;  // by part and class
  std::map<std::pair<Elements, std::int32_t>, const ByMember*> messages_;       // by message
  struct KnownCall {
    PlannedCall call;
    ByMember members;
  };
  std::unordered_multimap<std::uint64_t, KnownCall> calls_;
};

}  // namespace troika
