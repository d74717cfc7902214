// The links of a machine as messages use them: each direction by itself, with what a message
// occupies there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cost/link_costs.h"
#include "machine/link_tree.h"
#include "machine/machine.h"
#include "taskgraph/message_phases.h"

namespace troika {

/// Links are numbered 2 l in the direction from Link::a of link l, 2 l + 1 in the other.
constexpr std::int32_t directed_link(std::int32_t link, bool forward) {
  return 2 * link + (forward ? 0 : 1);
}

/// Borrows the machine, unless that lists no links.
class Network {
 public:
  /// A machine of several nodes that lists no links gets a network card for each node, whose costs
  /// are those of LinkCosts::network; messages inside its nodes cross no links.
  Network(const Machine& machine, const LinkCosts& costs);

  /// With links.
  const Machine& machine() const { return completed_ ? *completed_ : *given_; }
  const std::optional<LinkTree>& tree() const { return tree_; }
  std::size_t directed_links() const { return 2 * machine().links.size(); }
  /// Speeds are numbered.
  std::int32_t speed_of(std::int32_t link) const { return speed_of_[as_index(link)]; }
  /// Messages inside a node use links too, because the machine lists them.
  bool has_links_in_nodes() const { return !completed_ && !given_->links.empty(); }
  /// False: it is there for the structure only.
  bool is_occupied(std::int32_t link) const;
  /// How long a message occupies a link of this speed in the direction in which it goes.
  SimTime occupied(std::int32_t speed, Bytes bytes) const;
  /// The part of a message's latency during which it occupies no link.
  SimTime free_latency(SimTime latencies, SimTime longest_overhead) const;
  /// All of them, in both directions, with the time after which an urgent message may overtake.
  std::vector<DirectedLink> links() const;

 private:
  void add_cards(const LinkCosts& costs);

  const Machine* given_;
  std::optional<Machine> completed_;
  std::optional<LinkCost> card_;  // where the cards were added
  std::optional<LinkTree> tree_;
  std::vector<LinkSpeed> speeds_;
  std::vector<std::int32_t> speed_of_;  // by link
};

}  // namespace troika
