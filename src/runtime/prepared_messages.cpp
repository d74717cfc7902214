#include "runtime/prepared_messages.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

#include "collective/algorithms.h"

namespace troika {
namespace {

/// Sort key of a call: the fields that usually differ. Calls with equal keys are compared in full.
using CallKey = std::tuple<std::string, int, Collective, int, std::int64_t, std::int64_t>;
using Recipes = std::multimap<CallKey, std::shared_ptr<const MemberRecipe>>;

/// Returns the recipe of an equal call, if there is one: models repeat layers.
std::shared_ptr<const MemberRecipe> find_or_make(Recipes& known, const Communication& communication,
                                                 int member) {
  const CollectiveCall& call = communication.call;
  CallKey key{communication.algorithm, member, call.kind, call.members, call.count, call.segment};
  auto [begin, end] = known.equal_range(key);
  for (auto at = begin; at != end; ++at)
    if (at->second->call == call) return at->second;
  return known
      .emplace(key, std::make_shared<const MemberRecipe>(
                        make_member_recipe(call, communication.algorithm, member)))
      ->second;
}

}  // namespace

PreparedMessages::PreparedMessages(const TaskGraph& graph, const std::vector<DeviceId>& devices,
                                   const PreparedMessages& earlier)
    : tags_(earlier.tags_) {
  // Two ranks have different communications, but both have all those with devices of both. Tags are
  // taken in the order of the ids, so any two devices number the messages between them alike.
  std::vector<std::size_t> order(graph.communications.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t at) { return graph.communications[at].id; });
  for (DeviceId device : devices) tags_.try_emplace(device);
  Recipes known;
  for (std::size_t index : order) {
    const Communication& communication = graph.communications[index];
    for (std::size_t member = 0; member < communication.devices.size(); ++member) {
      auto tags = tags_.find(communication.devices[member]);
      if (tags == tags_.end()) continue;
      auto place = static_cast<int>(member);
      Part& part = parts_[{index, place}];
      part.recipe = find_or_make(known, communication, place);
      part.tags = tags->second.take(part.recipe->moves, Member{place, communication.devices});
    }
  }
}

}  // namespace troika
