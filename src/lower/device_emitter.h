// Emits the tasks of one device, fragment by fragment; its sources are emit_*.cpp.
#pragma once

#include <span>

#include "lower/movement_table.h"
#include "lower/planned_device.h"

namespace troika {

/// Results depend on the plan and the device only. Adds to the table of movements. Borrows plan and
/// table.
class DeviceEmitter {
 public:
  DeviceEmitter(const ProgramPlan& plan, MovementTable& movements, std::int32_t device)
      : plan_(plan), movements_(movements), here_(plan, device) {}

  // A fragment is valid until the next one is emitted: most replace one of the same size, whose
  // memory a copy can take over.
  /// The tiles of a job.
  const Fragment& emit_job(std::size_t job);
  /// What brings a value from its writers to its readers.
  const Fragment& emit_value(std::size_t value);
  /// The update of a parameter, what it needs of the gradient, and the bucket that begins with it.
  const Fragment& emit_update(std::size_t update);
  /// Numbers that every device must know: the loss, norms, outputs; and the guard.
  const Fragment& emit_step();
  /// Copies that the fragments want, each right before the first task that reads it.
  const Fragment& emit_copies(std::span<const Fragment> fragments);

  /// Stored parameters, used or not.
  std::vector<BufferRef> parameters() const;
  /// The host writes just what tiles read.
  std::vector<HostBuffer> inputs() const;
  Bytes input_bytes() const;
  bool is_input(std::size_t value) const;
  /// What the host reads after the step. Known once emit_step has run.
  const std::vector<HostBuffer>& outputs() const { return outputs_; }

 private:
  // emit_phases.cpp
  void emit_phase(std::size_t job, std::int32_t micro_batch, std::int32_t tile);
  BufferRef operand(const ValueUse& use, std::int32_t micro_batch, std::int32_t tile);
  struct HeldOutput {
    const NamedTensor& output;
    std::size_t value;
  };
  std::vector<HeldOutput> held_outputs() const;

  // emit_moves.cpp
  /// A step of a value's redistribution, by its number on this device.
  struct ValueStep {
    std::size_t value;
    std::int32_t micro_batch, local;
    bool greatest;  // terms combine to their maximum
  };
  void emit_step_of(const ValueStep& at, const Step& step, Moment moment);
  void emit_sum(const ValueStep& at, const Step& step, const Moment& moment);
  void emit_assemble(const ValueStep& at, const Step& step, const Moment& moment);
  void emit_message(const ValueStep& at, const Step& step, const Moment& moment);
  IdFields id_of(const ValueStep& step) const;
  BufferRef moved(const ValueStep& step, std::int32_t buffer) const;

  // emit_updates.cpp
  void emit_update_at(std::size_t update, std::int32_t place);
  void emit_phase_of(std::size_t update, std::int32_t place, std::size_t phase);
  void emit_counted_norms(std::size_t update, std::int32_t place, Moment moment);
  void emit_counted_norm(std::size_t update, std::int32_t place, std::size_t box, Moment& moment,
                         IdFields& id);
  void emit_scatter(std::size_t update, std::int32_t place);
  void emit_gather(std::size_t update, std::int32_t place);
  void emit_bucket(std::int32_t bucket);
  void emit_squares(std::size_t update, std::int32_t place);
  BufferRef update_operand(std::size_t update, std::int32_t place, const UpdateOperand& operand);
  /// What the device updates of a stored weight, and the gradient of that.
  BufferRef weight_part(std::size_t update, std::int32_t place);
  BufferRef gradient_part(std::size_t update, std::int32_t place);
  BufferRef counted_part(std::size_t update, std::int32_t place, const BufferRef& whole,
                         std::int32_t index, Moment& moment, IdFields& id);
  /// How many boxes of a stored part count; 1 if all of it does.
  std::size_t counted_boxes(std::size_t update, std::int32_t place) const;
  std::int32_t local_of(std::size_t update, std::int32_t place) const;

  // emit_totals.cpp
  /// A sum over the batch: its number, the value summed (or -1), number and moment of its next
  /// task, and the ranks that its tasks may have.
  struct SumTasks {
    std::int32_t sum, value;
    std::uint32_t next;
    Moment moment;
    RankRange ranks = kValueRanks;
  };
  std::string at_device(const std::string& name) const;
  void emit_loss();
  void emit_guard(const std::vector<BufferRef>& numbers);
  void emit_output_sums();
  /// What the device has of a sum over its tiles and micro-batches; nothing if it has no tiles.
  std::optional<BufferRef> local_total(SumTasks& sum);
  std::optional<BufferRef> local_squares(SumTasks sum);
  BufferRef emit_sum_of(std::vector<BufferRef> numbers, std::int64_t copies, SumTasks& sum);
  /// The numbers added up over all devices; those that are not there count as zero.
  std::vector<BufferRef> emit_totals(std::int32_t sum,
                                     const std::vector<std::optional<BufferRef>>& numbers,
                                     const Moment& start, const Moment& finish);

  // device_emitter.cpp
  /// A member's start or finish.
  struct CallEnd {
    CallKind call;
    std::int32_t of, micro_batch, message, member;
    bool starts;
  };
  void emit_end(const CallEnd& end, const BufferRef& buffer, Moment moment, IdFields id);
  /// Starts a task; its uses follow, then `add`.
  PlannedTask begin(WorkKind kind, std::int32_t of, std::int32_t index,
                    std::int32_t micro_batch = 0) const;
  void use(const BufferRef& buffer, Access access);
  /// The value of a buffer in a layout: itself, or a copy.
  BufferRef in_layout(const BufferRef& buffer, Layout layout, const Moment& moment);
  void want(const BufferRef& copy, const Moment& moment);
  void want_viewed(BufferRef buffer);
  void add(PlannedTask task, const Moment& moment, IdFields id);
  /// The same for a movement with the uses since `begin`.
  void add_movement(PlannedTask task, KernelKey key, const Moment& moment, IdFields id);
  /// A box that an assemble task takes out of an input.
  struct TakenBox {
    Region from, to;
  };
  void add_box(Assemble& op, PlannedTask& task, const TakenBox& box);
  const DistributedValue& value(std::size_t at) const { return plan_.distribution.values[at]; }
  const Outline& outline() const { return plan_.distribution.outline; }

  const ProgramPlan& plan_;
  MovementTable& movements_;
  const PlannedDevice here_;
  Fragment fragment_;
  TakenBox box_;  // in the making
  std::vector<HostBuffer> outputs_;
};

/// All fragments of a device, in a fixed order: jobs, values, updates, the step, copies.
std::vector<Fragment> emit_all(DeviceEmitter& emitter, const ProgramPlan& plan);

}  // namespace troika
