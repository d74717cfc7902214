#include "lower/find_all_to_all.h"

#include <algorithm>
#include <map>
#include <optional>

namespace troika {
namespace {

/// Devices that have elements for each other, directly or through others.
class Groups {
 public:
  void join(DeviceId a, DeviceId b) { leaders_[leader(a)] = leader(b); }

  std::map<DeviceId, std::vector<DeviceId>> all() {
    std::map<DeviceId, std::vector<DeviceId>> groups;
    for (const auto& [device, above] : leaders_) groups[leader(device)].push_back(device);
    return groups;
  }

 private:
  DeviceId leader(DeviceId device) {
    DeviceId& above = leaders_.try_emplace(device, device).first->second;
    return above == device ? device : above = leader(above);
  }

  std::map<DeviceId, DeviceId> leaders_;
};

/// Index of the only place on each device; nothing for a device that has several.
std::map<DeviceId, std::optional<std::size_t>> only_on_devices(const std::vector<Placed>& places) {
  std::map<DeviceId, std::optional<std::size_t>> only;
  for (std::size_t at = 0; at < places.size(); ++at) {
    auto [found, is_new] = only.try_emplace(places[at].device, at);
    if (!is_new) found->second.reset();
  }
  return only;
}

/// Every piece is cut into equal blocks, one for each need, which is made of nothing else.
bool are_equal_blocks(const std::vector<Placed>& needs, const Exchange& group) {
  auto members = static_cast<std::int64_t>(group.pieces.size());
  std::int64_t block = group.pieces[0].region.elements() / members;
  if (block == 0) return false;
  for (const Taken& taken : group.pieces) {
    if (taken.region.elements() != members * block) return false;
    for (std::size_t need : group.needs)
      if (intersect(taken.region, needs[need].region).elements() != block) return false;
  }
  for (std::size_t at = 0; at < group.pieces.size(); ++at)
    for (std::size_t other = 0; other < at; ++other)
      if (!intersect(group.pieces[at].region, group.pieces[other].region).empty()) return false;
  return std::ranges::all_of(group.needs, [&](std::size_t need) {
    return needs[need].region.elements() == members * block;
  });
}

}  // namespace

std::vector<Exchange> find_all_to_alls(const std::vector<Placed>& pieces,
                                       const std::vector<Placed>& needs) {
  if (std::min(pieces.size(), needs.size()) < kFewestOfAllToAll) return {};
  Groups groups;
  for (const Placed& piece : pieces)
    for (const Placed& need : needs)
      if (!intersect(piece.region, need.region).empty()) groups.join(piece.device, need.device);
  auto piece_on = only_on_devices(pieces), need_on = only_on_devices(needs);
  std::vector<Exchange> found;
  for (const auto& [leader, devices] : groups.all()) {
    if (devices.size() < kFewestOfAllToAll) continue;
    Exchange group{.kind = Exchange::Kind::all_to_all};
    for (DeviceId device : devices) {
      std::optional<std::size_t> piece = piece_on[device], need = need_on[device];
      if (!piece || !need) break;
      group.pieces.push_back({0, *piece, pieces[*piece].region});
      group.needs.push_back(*need);
    }
    bool is_whole = group.pieces.size() == devices.size();
    if (is_whole && are_equal_blocks(needs, group)) found.push_back(std::move(group));
  }
  return found;
}

}  // namespace troika
