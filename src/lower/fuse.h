// Units that can run as one kernel: an operator with the bias, residual sum, activation or dropout
// behind it, and backward the gradient of an activation with that of the operator before it.
#pragma once

#include <vector>

#include "lower/unit_graph.h"

namespace troika {

/// These units (indices into the list, in its order) as one.
struct FusedChain {
  std::vector<std::size_t> units;
  KernelKey key;
  std::vector<UnitUse> uses;
  const std::vector<Candidate>* row = nullptr;  ///< See find_chain_rows.
};

/// Whether a forward phase of the operator can run in the kernel of what writes one of its inputs.
bool can_follow(const Op& op);

/// Every chain that could be fused, prefixes of longer ones included, the longest of each start
/// first. A value between two of its units is read by the next one only, so it need not exist.
std::vector<FusedChain> find_chains(const UnitGraph& graph);

/// Looks up the rows of all chains. Returns whether the table has them.
bool find_chain_rows(std::vector<FusedChain>& chains, const UnitGraph& graph,
                     const Machine& machine, const KernelTable& table);

/// Fuses the chains that the table has a kernel for which takes no longer than their units do one
/// by one, and which can write fixed values as they must lie; of one start the chain that saves
/// most. Chains without a row stay apart. Precondition: each unit has a row. Returns the units that
/// are gone.
std::vector<Unit> fuse(UnitGraph& graph, const std::vector<FusedChain>& chains);

}  // namespace troika
