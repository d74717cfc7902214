// Communications between classes of devices: which of a plan's are one, and how long they take.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "lower/choose_algorithms.h"
#include "lower/classes.h"
#include "lower/planned_calls.h"
#include "taskgraph/folded_graph.h"

namespace troika {

/// Borrows its parts.
class FoldedCalls {
 public:
  FoldedCalls(const ProgramPlan& plan, const Network& network, const LinkCosts& links);

  /// Ends of messages that are no longer the same: they have another leader, or occupy other links.
  struct Changed {
    std::vector<const Moves*> moves;
    bool totals = false;  ///< Sums over all devices.
  };
  Changed set_classes(const Partition& partition);

  /// Names the class of communications that a start or finish belongs to.
  FoldedCall name_of(const PlannedTask& end);
  /// The time as in Communication. `buffer`: the bytes of the member's buffer, as it lies.
  SimTime time_of(const PlannedTask& end, Bytes buffer);
  /// The phases of all communications of the class together, as in FoldedTask.
  SharedPhases phases_of(const PlannedTask& end, Bytes buffer);

 private:
  /// The member that names a message.
  struct Leader {
    std::int32_t device = 0, part = 0;

    auto operator<=>(const Leader&) const = default;
  };
  using Leaders = std::vector<Leader>;  // by message
  using Shares = std::vector<std::vector<LinkShare>>;
  /// A communication in the place of a message, and what is known of it.
  struct KnownCall {
    CallKind kind;
    DType dtype;
    std::int64_t bytes;
    SimTime time{};
    const AlgorithmChoice* choice = nullptr;
    SharedPhases phases{};           // on links, as of the classes of `version`; or work
    Placement* placement = nullptr;  // of one that occupies links,
    MessagePhases on_groups{};       // and its phases there,
    Shares shares{};                 // and which links stand for the groups, as of `version`
    std::uint64_t version = 0;       // 0: phases are not known
  };
  using MessageCalls = std::vector<std::vector<KnownCall>>;  // by message, mostly one or two each

  const Leaders& leaders_of(const Moves& moves);
  std::vector<KnownCall>& calls_of(const CallMessage& message);
  KnownCall& find_call(const PlannedTask& end, Bytes buffer);
  CollectiveCall complete(const PlannedCall& planned, Bytes buffer) const;
  void find_phases(const PlannedTask& end, Bytes buffer, KnownCall& call);
  Leaders find_leaders(const Moves& moves) const;
  void put_on_links(const CallMessage& message, KnownCall& call);
  Shares find_shares(const CallMessage& message, const Placement& placement);
  std::int64_t count_calls(const CallMessage& message);
  bool follow_links(const Moves* moves);

  const ProgramPlan& plan_;
  const LinkCosts& links_;
  AlgorithmTable algorithms_;
  PhaseMaker phases_;
  Partition partition_;
  std::vector<std::int32_t> first_;         // by device: the first of its class
  std::vector<std::int32_t> alike_, hits_;  // by link: how many its class has; zero between uses
  std::uint64_t version_ = 0;               // of the partition
  std::unordered_map<const Moves*, Leaders> leaders_;
  std::unordered_map<const Moves*, MessageCalls> calls_;  // null: of all devices
  // The entry that was asked for last: a device has the messages of a value one after the other.
  // Entries are never erased.
  std::pair<const Moves*, MessageCalls*> last_calls_{};
};

}  // namespace troika
