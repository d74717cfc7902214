#include "cost/network.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace troika {
namespace {

/// The executor's chunks.
constexpr Bytes kChunk{256 << 10};

}  // namespace

Network::Network(const Machine& machine, const LinkCosts& costs) : given_(&machine) {
  if (machine.links.empty() && node_count(machine) > 1) add_cards(costs);
  tree_ = find_link_tree(this->machine());
  for (const Link& link : this->machine().links) {
    // Few are different.
    auto known = std::ranges::find(speeds_, link.speed);
    if (known == speeds_.end()) known = speeds_.insert(known, link.speed);
    speed_of_.push_back(static_cast<std::int32_t>(known - speeds_.begin()));
  }
}

void Network::add_cards(const LinkCosts& costs) {
  card_ = costs.network;
  Machine made = *given_;
  auto devices = static_cast<std::int32_t>(made.devices.size());
  std::int32_t nodes = node_count(made);
  made.hubs.assign(as_index(nodes) + 1, {});
  for (std::int32_t device = 0; device < devices; ++device)
    made.links.push_back({device,
                          devices + made.devices[as_index(device)].node,
                          {.bytes_per_second = std::numeric_limits<double>::infinity()}});
  // A message crosses two cards.
  LinkSpeed card{.bytes_per_second = 1e9 / card_->beta,
                 .latency = {message_time(*card_, {}).count / 2},
                 .overhead = overhead_of(*card_)};
  for (std::int32_t node = 0; node < nodes; ++node)
    made.links.push_back({devices + node, devices + nodes, card});
  completed_ = std::move(made);
}

bool Network::is_occupied(std::int32_t link) const {
  return std::isfinite(machine().links[as_index(link)].speed.bytes_per_second) ||
         overhead_of(machine().links[as_index(link)].speed) > SimTime{};
}

SimTime Network::occupied(std::int32_t speed, Bytes bytes) const {
  const LinkSpeed& link = speeds_[as_index(speed)];
  if (!card_) return occupied_time(link, bytes);
  // Times are measured, not only fitted.
  return std::max(SimTime{}, message_time(*card_, bytes) - latency_of(*card_));
}

SimTime Network::free_latency(SimTime latencies, SimTime longest_overhead) const {
  if (card_) return latency_of(*card_);
  return std::max(SimTime{}, latencies - longest_overhead);
}

std::vector<DirectedLink> Network::links() const {
  std::vector<DirectedLink> links;
  links.reserve(directed_links());
  for (const Link& link : machine().links) {
    double chunk = static_cast<double>(kChunk.count) / link.speed.bytes_per_second * 1e9;
    for (int direction = 0; direction < 2; ++direction)
      links.push_back({static_cast<std::int32_t>(links.size()), {std::llround(chunk)}});
  }
  return links;
}

}  // namespace troika
