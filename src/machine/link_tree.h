// The links of a machine as a tree, where they are one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "machine/machine.h"

namespace troika {

/// A machine whose links have no cycle, hung up at some endpoint of each component.
struct LinkTree {
  std::vector<std::int32_t> parent;  ///< By endpoint; -1: a root.
  std::vector<std::int32_t> link;    ///< By endpoint: to its parent.
  std::vector<std::int32_t> depth;   ///< By endpoint.
  std::vector<char> only;            ///< By link: it is the only one of a device.
};

/// Returns nothing if the links have a cycle.
std::optional<LinkTree> find_link_tree(const Machine& machine);

}  // namespace troika
