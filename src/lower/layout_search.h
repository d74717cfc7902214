// Chooses the kernel of each unit and the layout of each value for the least total time: kernels
// and the reorders between them.
#pragma once

#include <vector>

#include "lower/layout_model.h"

namespace troika {

struct LayoutChoices {
  std::vector<const Candidate*> candidates;  ///< By unit; null: a sum without a row.
  std::vector<KernelChoice> kernels;         ///< By unit.
  std::vector<Layout> buffers;        ///< As their writers leave them, or as they are stored.
  double cost = LayoutModel::kNever;  ///< Nanoseconds, of kernels and reorders.
};

/// Starts with the best choice unit by unit in listed order. Then, until nothing changes: units
/// that take any layout, joined by the values between them (a residual stage, a parameter with its
/// optimizer state), try each layout together, with the best answer of the units around them; units
/// that could read one value in panels, such as the chunks of a layer, try that together; and
/// single units change their mind, given what all others chose (iterated conditional modes, Besag
/// 1986, doi:10.1111/j.2517-6161.1986.tb01412.x). Precondition: units have rows that are not empty;
/// a sum need not.
LayoutChoices search_layouts(const UnitGraph& graph, const Machine& machine,
                             const KernelTable& table);

/// As above, for each of the layouts once: what comes from outside lies so, and what goes there is
/// wanted so. Returns how the buffers lie where that costs least.
std::vector<Layout> search_with_ends(const UnitGraph& graph, const Machine& machine,
                                     const KernelTable& table, LayoutSet ends);

}  // namespace troika
