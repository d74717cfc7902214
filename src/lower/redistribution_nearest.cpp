#include "lower/redistribution_nearest.h"

#include <algorithm>
#include <array>

namespace troika::redistribution {
namespace {

/// With more holders each look-up is a binary search, so that many readers of a box that many hold
/// do not take time for each pair of them.
constexpr std::size_t kManyHolders = 32;

/// Of a list sorted by place, the holders at one place.
template <class PlaceOf>
std::span<const std::int32_t> find_at(const std::vector<std::int32_t>& sorted, std::int32_t place,
                                      PlaceOf place_of) {
  auto begin = std::ranges::lower_bound(sorted, place, {}, place_of);
  auto end = std::ranges::upper_bound(begin, sorted.end(), place, {}, place_of);
  return {begin, end};
}

std::int32_t take_turn(std::span<const std::int32_t> holders, const Need& need) {
  return holders[need.ordinal % std::ssize(holders)];
}

}  // namespace

std::int32_t NearestHolder::find(std::span<const std::int32_t> run, const Need& need) {
  if (run.size() == 1) return run[0];
  if (run.size() > kManyHolders) return find_sorted(run, need);
  std::array<std::int32_t, 4> counts{};
  for (std::int32_t id : run) ++counts[distance(id, need)];
  int nearest = 0;
  while (counts[nearest] == 0) ++nearest;
  std::int32_t before = need.ordinal % counts[nearest];
  for (std::int32_t id : run)
    if (distance(id, need) == nearest && before-- == 0) return id;
  return run[0];
}

int NearestHolder::distance(std::int32_t id, const Need& need) const {
  if (device_of(id) == need.device) return 0;
  if (process_of(id) == draft_.process_of(need.device)) return 1;
  return node_of(id) == draft_.node_of(need.device) ? 2 : 3;
}

std::int32_t NearestHolder::find_sorted(std::span<const std::int32_t> run, const Need& need) {
  auto count = static_cast<std::int32_t>(sorted_.size());
  std::int32_t at = known_.find_or_add(PairMap::key(0, run[0]), count);
  if (at == count) sorted_.push_back(sort(run));
  std::span inside = find_at(sorted_[at].by_process, draft_.process_of(need.device),
                             [&](std::int32_t id) { return process_of(id); });
  for (std::int32_t id : inside)
    if (device_of(id) == need.device) return id;
  if (!inside.empty()) return take_turn(inside, need);
  std::span near = find_at(sorted_[at].by_node, draft_.node_of(need.device),
                           [&](std::int32_t id) { return node_of(id); });
  return take_turn(near.empty() ? run : near, need);
}

NearestHolder::Sorted NearestHolder::sort(std::span<const std::int32_t> run) const {
  Sorted sorted{{run.begin(), run.end()}, {run.begin(), run.end()}};
  std::ranges::stable_sort(sorted.by_process, {}, [&](std::int32_t id) { return process_of(id); });
  std::ranges::stable_sort(sorted.by_node, {}, [&](std::int32_t id) { return node_of(id); });
  return sorted;
}

}  // namespace troika::redistribution
