// Two levels: inside a node each member gathers one slice of the sum, members with the same slice
// all-reduce it between the nodes, and inside the node everyone gets all slices. Only one vector
// per node crosses the network. If there is one node only, its processes are used as nodes.
#pragma once

#include <optional>
#include <string>

#include "collective/recipe.h"

namespace troika {

/// Nodes may have different numbers of members: there are as many slices as the smallest node has
/// members.
MemberMoves hierarchical_all_reduce(const CollectiveCall& call, int member);

/// The members of each node, or of each process if there is one node.
std::vector<std::vector<int>> inner_groups(const CollectiveCall& call);

}  // namespace troika
