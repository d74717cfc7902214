#include "lower/crossings.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lower/colour.h"
#include "machine/link_tree.h"
#include "machine/route.h"

namespace troika {
namespace {

/// One more than the part, so that part 0 counts.
std::uint64_t weight_of(const Membership& member) {
  return scrambled(static_cast<std::uint64_t>(member.part) + 1);
}

/// Carries members up the tree until all of a communication have met; costs the links between them.
class TreeWalk {
 public:
  TreeWalk(const Machine& machine, const LinkTree& tree)
      : machine_(machine), tree_(tree), count_(tree.depth.size()), weight_(tree.depth.size()) {
    auto deepest = std::ranges::max_element(tree.depth);
    if (deepest != tree.depth.end()) levels_.resize(as_index(*deepest) + 1);
  }

  void cross(std::int32_t communication, std::span<const Membership> members, Crossings& found) {
    total_ = 0;
    for (const Membership& member : members) {
      arrive(member.device, 1, weight_of(member));
      total_ += weight_of(member);
    }
    for (bool apart = members.size() > 1; deepest_ >= 0; --deepest_) {
      for (std::int32_t below : levels_[as_index(deepest_)]) {
        std::size_t count = std::exchange(count_[as_index(below)], 0);
        apart = apart && count < members.size();
        std::int32_t above = tree_.parent[as_index(below)];
        if (!apart || above < 0) continue;
        note(communication, below, found);
        arrive(above, count, weight_[as_index(below)]);
      }
      levels_[as_index(deepest_)].clear();
      if (!apart) deepest_ = 0;
    }
  }

 private:
  // The link above `below` is crossed.
  void note(std::int32_t communication, std::int32_t below, Crossings& found) {
    std::uint64_t weight = weight_[as_index(below)];
    std::int32_t link = tree_.link[as_index(below)];
    found.carries[as_index(link)] = true;
    if (tree_.only[as_index(link)]) return;
    bool is_a = machine_.links[as_index(link)].a == below;
    std::uint64_t above = total_ - weight;
    found.crossings.push_back(
        {communication, link, {is_a ? weight : above, is_a ? above : weight}});
  }

  void arrive(std::int32_t endpoint, std::size_t count, std::uint64_t weight) {
    std::size_t at = as_index(endpoint);
    if (count_[at] == 0) {
      weight_[at] = 0;
      levels_[as_index(tree_.depth[at])].push_back(endpoint);
      deepest_ = std::max(deepest_, tree_.depth[at]);
    }
    count_[at] += count;
    weight_[at] += weight;
  }

  const Machine& machine_;
  const LinkTree& tree_;
  std::vector<std::size_t> count_;                 // members at or below the endpoint,
  std::vector<std::uint64_t> weight_;              // and their weight
  std::vector<std::vector<std::int32_t>> levels_;  // by depth: endpoints with a count
  std::int32_t deepest_ = -1;
  std::uint64_t total_ = 0;  // weight of all members
};

/// Follows messages from each member to the next. Finds each route once.
class RingWalk {
 public:
  explicit RingWalk(const Machine& machine) : machine_(machine), sent_(machine.links.size()) {}

  void cross(std::int32_t communication, std::span<const Membership> members, Crossings& found) {
    for (std::size_t at = 0; at < members.size(); ++at)
      send(members[at], members[(at + 1) % members.size()]);
    for (std::int32_t link : touched_) {
      found.carries[as_index(link)] = true;
      found.crossings.push_back({communication, link, std::exchange(sent_[as_index(link)], {})});
    }
    touched_.clear();
  }

 private:
  void send(const Membership& from, const Membership& to) {
    for (const Hop& hop : hops_between(from.device, to.device)) {
      auto& sent = sent_[hop.link.index()];
      if (sent[0] == 0 && sent[1] == 0) touched_.push_back(hop.link.value);
      sent[hop.forward ? 0 : 1] += weight_of(from);
    }
  }

  const std::vector<Hop>& hops_between(std::int32_t from, std::int32_t to) {
    auto [found, is_new] = routes_.try_emplace({from, to});
    if (is_new)
      if (auto route = route_between(machine_, DeviceId(as_index(from)), DeviceId(as_index(to))))
        found->second = std::move(route->hops);
    return found->second;
  }

  const Machine& machine_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<Hop>> routes_;
  std::vector<std::array<std::uint64_t, 2>> sent_;  // by link
  std::vector<std::int32_t> touched_;
};

template <class Walk>
Crossings walk_all(const Machine& machine, Walk walk, std::span<const Membership> members,
                   std::span<const std::int32_t> ends) {
  Crossings found{.carries = std::vector<char>(machine.links.size())};
  std::size_t begin = 0;
  for (std::size_t at = 0; at < ends.size(); ++at) {
    walk.cross(static_cast<std::int32_t>(at), members.subspan(begin, as_index(ends[at]) - begin),
               found);
    begin = as_index(ends[at]);
  }
  return found;
}

}  // namespace

Crossings find_crossings(const Machine& machine, std::span<const Membership> members,
                         std::span<const std::int32_t> ends) {
  if (machine.links.empty()) return {};
  if (auto tree = find_link_tree(machine))
    return walk_all(machine, TreeWalk(machine, *tree), members, ends);
  return walk_all(machine, RingWalk(machine), members, ends);
}

}  // namespace troika
