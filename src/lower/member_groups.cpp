#include "lower/member_groups.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace troika {
namespace {

void append(std::size_t aspect, const Exchanges& exchanges, CommunicationList& list) {
  auto begin = static_cast<std::int32_t>(list.members.size());
  TROIKA_CHECK_EQ(exchanges.ends.empty() ? 0 : as_index(exchanges.ends.back()),
                  exchanges.members.size());
  list.members.insert(list.members.end(), exchanges.members.begin(), exchanges.members.end());
  for (std::int32_t end : exchanges.ends) list.ends.push_back(begin + end);
  list.shapes.resize(list.ends.size(), mix(mix(Colour{}, exchanges.shape), aspect));
}

}  // namespace

CommunicationList list_communications(std::span<const Aspect* const> aspects) {
  CommunicationList list;
  for (std::size_t aspect = 0; aspect < aspects.size(); ++aspect)
    for (const Exchanges& exchanges : aspects[aspect]->exchanges) append(aspect, exchanges, list);
  return list;
}

MemberGroups group_members(const Machine& machine, CommunicationList list) {
  std::vector<std::pair<std::int32_t, std::int32_t>> places;  // node and process by device
  for (const DeviceSpec& device : machine.devices) places.emplace_back(device.node, device.rank);
  auto where = [&](const Membership& member) { return places[as_index(member.device)]; };
  MemberGroups groups{.members = std::move(list.members)};
  std::int32_t begin = 0;
  for (std::int32_t end : list.ends) {
    auto own = std::span(groups.members).subspan(as_index(begin), as_index(end - begin));
    // Most lists are sorted, since devices are numbered node by node.
    if (!std::ranges::is_sorted(own, {}, where)) std::ranges::sort(own, {}, where);
    for (std::size_t i = 0; i < own.size(); ++i) {
      bool is_last = i + 1 == own.size();
      auto here = where(own[i]);
      auto next = where(own[is_last ? i : i + 1]);
      if (is_last || here != next)
        groups.processes.push_back(begin + static_cast<std::int32_t>(i) + 1);
      if (is_last || here.first != next.first)
        groups.nodes.push_back(static_cast<std::int32_t>(groups.processes.size()));
    }
    groups.communications.push_back(static_cast<std::int32_t>(groups.nodes.size()));
    begin = end;
  }
  return groups;
}

}  // namespace troika
