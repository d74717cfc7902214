// Two levels: inside a node each member gathers one slice of the sum, members with the same slice
// all-reduce it between the nodes, and inside the node everyone gets all slices. Only one vector
// per node crosses the network. If there is one node only, its processes are used as nodes.
#include <algorithm>
#include <unordered_map>

#include "collective/member_moves.h"

namespace troika {
namespace {

/// The group that the member is in, with its position there.
Group group_of(const std::vector<std::vector<int>>& groups, int member) {
  for (const std::vector<int>& group : groups) {
    auto found = std::ranges::find(group, member);
    if (found != group.end())
      return {.members = group, .me = static_cast<int>(found - group.begin())};
  }
  return {};
}

/// Combines slices[i] of all members of the group at position i. Direct exchange, because links
/// inside a node are fast and equal. Members beyond the number of slices only contribute.
void reduce_inside(MoveList& moves, const Group& inside, const std::vector<Range>& slices) {
  for (int step = 1; step < inside.size(); ++step) {
    auto to = static_cast<std::size_t>((inside.me + step) % inside.size());
    if (to < slices.size()) moves.send(inside.members[to], vector_piece(slices[to]));
    auto mine = static_cast<std::size_t>(inside.me);
    if (mine < slices.size())
      moves.receive_reduce(inside.member(inside.me - step), vector_piece(slices[mine]));
  }
}

/// All-reduce of one slice between the nodes, with the algorithm that is optimal in bytes.
void reduce_across(MoveList& moves, const Group& across, Range slice) {
  if (is_power_of_two(across.size())) return rabenseifner_all_reduce(moves, across, slice);
  std::vector<Range> parts = slices_of(slice, across.size());
  ring_reduce_scatter(moves, across, parts);
  ring_all_gather(moves, across, parts);
}

/// The reverse of reduce_inside: each position sends its finished slice to all others.
void gather_inside(MoveList& moves, const Group& inside, const std::vector<Range>& slices) {
  for (int step = 1; step < inside.size(); ++step) {
    auto mine = static_cast<std::size_t>(inside.me);
    if (mine < slices.size())
      moves.send(inside.member(inside.me + step), vector_piece(slices[mine]));
    auto from = static_cast<std::size_t>((inside.me - step + inside.size()) % inside.size());
    if (from < slices.size()) moves.receive(inside.members[from], vector_piece(slices[from]));
  }
}

}  // namespace

std::vector<std::vector<int>> inner_groups(const CollectiveCall& call) {
  const std::vector<int>& nodes = call.nodes;
  bool several = std::ranges::any_of(nodes, [&](int node) { return node != nodes[0]; });
  const std::vector<int>& places = several ? nodes : call.processes;
  std::vector<std::vector<int>> groups;
  std::unordered_map<int, std::size_t> seen;
  for (int member = 0; member < call.members; ++member) {
    int place = places.empty() ? 0 : places[static_cast<std::size_t>(member)];
    auto [group, is_new] = seen.try_emplace(place, groups.size());
    if (is_new) groups.emplace_back();
    groups[group->second].push_back(member);
  }
  return groups;
}

MemberMoves hierarchical_all_reduce(const CollectiveCall& call, int member) {
  MoveList moves(call.segment);
  std::vector<std::vector<int>> groups = inner_groups(call);
  Group inside = group_of(groups, member);
  auto smallest = std::ranges::min(groups, {}, &std::vector<int>::size).size();
  // One slice per position that every node has.
  std::vector<Range> slices = slices_of({0, call.count}, static_cast<int>(smallest));

  reduce_inside(moves, inside, slices);
  auto mine = static_cast<std::size_t>(inside.me);
  if (mine < slices.size()) {
    Group across;
    for (const std::vector<int>& group : groups) {
      // Every node contributes its member with the same position, and thus the same slice.
      if (group == inside.members) across.me = across.size();
      across.members.push_back(group[mine]);
    }
    reduce_across(moves, across, slices[mine]);
  }
  gather_inside(moves, inside, slices);
  return std::move(moves).take();
}

}  // namespace troika
