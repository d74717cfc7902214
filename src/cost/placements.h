// Which links of a network the members of a communication send over, and how many of its messages
// a link carries in a phase.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collective/phases.h"
#include "cost/network.h"
#include "machine/route.h"

namespace troika {

/// Directed links that are alike for a communication: they have the same speed, and it has equally
/// many members behind them, the root among them or not. In each phase it loads all of them as much
/// as the one with most messages. So its load follows from where its members are, and does not
/// depend on which of several equal nodes comes first (docs/algorithms.md).
struct LinkGroup {
  std::int32_t speed = 0;    ///< In Network.
  std::int32_t senders = 0;  ///< Members on the side that sends.
  std::vector<std::int32_t> links;
};

/// The messages that are sent at once in a phase.
struct PhaseTraffic {
  LinkKind kind = LinkKind::process;  ///< The slowest of them.
  struct Crossed {
    std::int32_t group = 0;
    std::int64_t messages = 0;  ///< Over the link of the group that most of them cross.
  };
  std::vector<Crossed> crossed;
  SimTime latency{};  ///< Of one message.
};

/// Where the members of some communications are.
struct Placement {
  /// Links that carry nothing worth counting are in no group.
  std::vector<LinkGroup> groups;
  std::vector<std::int32_t> devices;  ///< By member.
  /// By collective, algorithm, order, group, exchange, distance.
  using PhaseName = std::tuple<Collective, std::string, CombineOrder, std::int32_t, Exchange, int>;
  std::map<PhaseName, PhaseTraffic> known{};
};

/// Keeps what it finds. Borrows the network.
class Placements {
 public:
  explicit Placements(const Network& network);

  /// Stays where it is. `is_rooted`: member 0 is not like the others.
  Placement& of(std::span<const std::int32_t> devices, bool is_rooted);

  struct AskedPhase {
    const CollectiveCall& call;
    const std::string& algorithm;
    const CollectivePhases& phases;
    const CollectivePhase& phase;
  };
  const PhaseTraffic& traffic(Placement& placement, const AskedPhase& asked);

 private:
  struct DevicesHash {
    std::size_t operator()(const std::vector<std::int32_t>& devices) const;
  };
  using GroupName = std::tuple<std::int32_t, std::int32_t, bool, bool>;

  Placement find(std::span<const std::int32_t> devices, bool is_rooted);
  void find_in_tree(Placement& made, bool is_rooted);
  void find_by_ring(Placement& made);
  void add_link(Placement& made, const GroupName& name, std::int32_t directed);
  PhaseTraffic find_traffic(const Placement& placement, const AskedPhase& asked);
  void count_in_tree(const Placement& placement, const AskedPhase& asked, PhaseTraffic& made);
  void send(std::int32_t from, std::int32_t to, PhaseTraffic& made);
  const std::vector<Hop>& hops_between(std::int32_t from, std::int32_t to);

  const Network& network_;
  std::unordered_map<std::vector<std::int32_t>, std::unique_ptr<Placement>, DevicesHash> known_;
  std::map<GroupName, std::int32_t> groups_;  // of the placement that is being made
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<Hop>> routes_;
  // By endpoint, zero between uses: members at or below it, and whether the root is.
  std::vector<std::int32_t> below_;
  std::vector<char> root_below_;
  // By directed link: messages, zero between uses, and group, -1 between uses.
  std::vector<std::int64_t> sent_;
  std::vector<std::int32_t> group_of_;
};

}  // namespace troika
