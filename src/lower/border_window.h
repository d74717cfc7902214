// Chooses the layout of a value that passes between two regions, from the units around it.
#pragma once

#include <vector>

#include "lower/layout_search.h"

namespace troika {

/// The units near some values. Borrows everything; fuses units of the graph.
class BorderWindow {
 public:
  /// Precondition: the units have rows, sums perhaps not, and nothing is fused yet.
  BorderWindow(UnitGraph& graph, const Machine& machine, const KernelTable& table);

  /// Assumes that everything around the window lies in one layout, tries those that kernels here
  /// offer, and takes how the values lie where the window costs least. So borders that are near
  /// each other agree, unless kernels gain more than reorders cost. Plain where some unit has no
  /// kernel for that. `borders` has a place for each writer of the values.
  void decide(const std::vector<std::int32_t>& values, BorderLayouts& borders);

 private:
  /// A unit as it was before fusing: a region may fuse less than its window did.
  struct WriterUnit {
    const std::vector<Candidate>* row;
    std::vector<UnitUse> uses;
  };

  LayoutSet offered(const std::vector<std::int32_t>& values) const;
  bool can_write(const std::vector<UnitGraph::Piece>& pieces,
                 const std::vector<Layout>& layouts) const;

  UnitGraph& graph_;
  const Machine& machine_;
  const KernelTable& table_;
  std::vector<WriterUnit> units_;
};

}  // namespace troika
