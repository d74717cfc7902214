// How much the messages of a step use each link.
#pragma once

#include <vector>

#include "taskgraph/folded_graph.h"

namespace troika {

struct LinkUse {
  std::int32_t link = 0;  ///< A link in one direction, numbered as in DirectedLink.
  Bytes bytes{};
  SimTime busy{};

  bool operator==(const LinkUse&) const = default;
};

/// One link for each class of links, the longest busy first; links without messages are left out.
/// Counts as the simulator does: links that are alike for a message all carry what the busiest of
/// them carries.
std::vector<LinkUse> link_use(const FoldedGraph& graph);

}  // namespace troika
