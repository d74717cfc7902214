// The communications that starts and finishes of a device belong to.
#pragma once

#include "lower/planned_tasks.h"

namespace troika {

// `end` is a start or finish everywhere.

Collective kind_of(const ProgramPlan& plan, const PlannedTask& end);
/// The moment of its finish, which is that of its first reader.
Moment finish_of(const ProgramPlan& plan, const PlannedTask& end);

/// A communication between all its members, on whatever device.
struct PlannedCall {
  CollectiveCall call;  ///< Without nodes, processes and algorithm.
  DType dtype = DType::f32;
  CombineRule rule = CombineRule::sum;
  std::vector<std::int32_t> devices;  ///< One per member.
};
PlannedCall describe_call(const ProgramPlan& plan, const PlannedTask& end);

/// The type of the elements that it carries.
DType dtype_of(const ProgramPlan& plan, const PlannedTask& end);

/// The redistribution and the message in it that give the members; null: all devices are members.
struct CallMessage {
  const Moves* moves = nullptr;
  std::int32_t message = -1;
};
CallMessage message_of(const ProgramPlan& plan, const PlannedTask& end);

/// Where a sum over all devices is known, and how many numbers it has: of the loss (0) with its
/// weight and what the hosts ask for, of the gradient's squares (1), of output `sum` - 2.
Moment finish_of_totals(const ProgramPlan& plan, std::int32_t sum);
constexpr std::int64_t numbers_of_totals(std::int32_t sum) { return sum == 0 ? 3 : 1; }

/// Whether terms combine to their maximum instead of their sum.
bool is_greatest(const ProgramPlan& plan, std::size_t value);

}  // namespace troika
