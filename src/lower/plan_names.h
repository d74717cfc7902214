// Names that the buffers, communications and tasks of a plan get when it is bound to devices, and
// the parts of the model that its buffers hold.
#pragma once

#include <string>

#include "lower/planned_calls.h"
#include "lower/planned_device.h"

namespace troika {

/// Borrows the plan.
class PlanNames {
 public:
  explicit PlanNames(const ProgramPlan& plan) : plan_(plan), graph_(*plan.request.graph) {}

  /// Sets the buffer's name and the region of the model that it holds. `made` has its device, and a
  /// copy the name of the original.
  void describe(const PlannedBuffer& planned, BufferSpec& made) const;

  /// Of the communication that a start or finish belongs to.
  std::string of_call(const PlannedTask& end, Collective kind) const;

  /// Of that communication in plans (strategy/message_names.h).
  std::string of_message(const PlannedTask& end) const;

  /// The task's buffers already have their names in `bound`, and `task` its device, uses and
  /// communication.
  std::string of(const PlannedTask& planned, const Task& task, const TaskGraph& bound) const;

 private:
  const Outline& outline() const { return plan_.distribution.outline; }
  const Parameter& parameter_of(std::int32_t update) const;
  std::string base_name(const OutlinedValue& value) const;
  std::string name_of_buffer(const PlannedBuffer& planned, BufferSpec& made) const;
  std::string name_of_value(const PlannedBuffer& planned, BufferSpec& made) const;
  std::string name_of_moved(const PlannedBuffer& planned, DeviceId device) const;
  std::string name_of_stored(const PlannedBuffer& planned, BufferSpec& made) const;
  std::string name_of_written(const PlannedBuffer& planned) const;
  std::string name_of_state(const PlannedBuffer& planned, BufferSpec& made) const;
  std::string name_of_moves(const PlannedTask& end) const;
  std::string name_of_sum(std::int32_t sum) const;
  std::string name_of_phase(const PlannedTask& planned, DeviceId device) const;
  std::string name_of_movement(const PlannedTask& planned, const Task& task,
                               const TaskGraph& bound) const;
  std::string name_of_value_part(const PlannedBuffer& planned) const;
  std::string tile_name(const std::string& name, TileSetId set, std::int32_t tile) const;
  std::string at_device(const std::string& name, DeviceId device) const;
  void shift_to_part(const OutlinedValue& value, std::int32_t part, BufferSpec& made) const;

  const ProgramPlan& plan_;
  const Graph& graph_;
};

}  // namespace troika
