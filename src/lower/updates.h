// Where parameters are updated: by every device that stores them, or each by one of the devices
// that store the same region, which then share the result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lower/distribution.h"

namespace troika {

/// A tensor that a phase of an update accesses.
struct UpdateOperand {
  Role role = Role::weight;
  int slot = 0;  ///< Of the rule.
  bool gradient = false;
  Access access = Access::read;
  std::string name{};  ///< Of the slot.
  DType dtype = DType::f32;

  bool operator==(const UpdateOperand&) const = default;
};

struct UpdatePlan {
  std::int32_t parameter = -1;
  std::int32_t weight = -1, gradient = -1;  ///< Values.
  const Op* rule = nullptr;
  const PlaceGroups* groups = nullptr;  ///< Of the stored places.
  /// By stored region: the boxes that no region before it has. Empty where no two overlap.
  std::vector<std::vector<Region>> counted{};
  /// Null: every device updates what it stores. Else owner m of n of a region updates the elements
  /// [m * length, (m + 1) * length) of it, in memory order, where length is the region's elements
  /// divided by n, rounded up: all owners do the same, and the memory is padded for the last ones.
  const SharedUpdates* shared = nullptr;
  std::int32_t norms = -1;  ///< Value: of a rule that needs norms of a parameter that is cut.
  bool waits = false;       ///< For messages that bring the gradient.
  std::vector<Phase> phases{};
  std::vector<std::vector<UpdateOperand>> operands{};  ///< By phase.

  bool is_staged() const { return norms >= 0; }
  bool operator==(const UpdatePlan&) const = default;
};

/// Elements that each of so many owners updates.
inline std::int64_t slice_length(std::int64_t elements, std::int64_t owners) {
  return (elements + owners - 1) / owners;
}

/// Elements behind the end of a region that so many devices store, so that all of them have slices
/// of one length. Regions with fewer elements are not sliced.
inline std::int64_t slice_padding(std::int64_t elements, std::int64_t copies) {
  if (copies < 2 || elements < copies) return 0;
  return slice_length(elements, copies) * copies - elements;
}

/// One per updated parameter, in the order of the parameters. Fills in the values of their norms.
std::vector<UpdatePlan> plan_updates(const LowerRequest& request, Distribution& distribution,
                                     PlanTables& tables);

/// A program as far as it depends on no kernel.
struct UpdatedProgram {
  const LowerRequest& request;
  Distribution& distribution;
  std::vector<UpdatePlan>& updates;
};

/// Plans the updates again whose values are touched, and adds them and their norms to what is.
void change_updates(const UpdatedProgram& program, PlanTables& tables, Touched& touched);

}  // namespace troika
