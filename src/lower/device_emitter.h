// Emits the tasks of one device. Private to plan_tasks; its sources are emit_*.cpp.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <tuple>

#include "lower/planned_tasks.h"

namespace troika {

/// Communications by what they are, so that members on several devices find the same one. With
/// classes, communications of a class are one.
class CallTable {
 public:
  CallTable(const ProgramPlan& plan, PlannedTasks& made, const Classes* classes)
      : plan_(plan), made_(made), classes_(classes) {}

  /// A message of a value's redistribution.
  struct ValueCall {
    std::size_t value;
    std::int32_t micro_batch, message;
    bool greatest;
  };
  std::int32_t of_moves(const ValueCall& call);
  /// The reduce-scatter that takes the place of a sum whose result is updated in slices, and the
  /// all-gather of what was updated.
  std::int32_t of_scatter(std::size_t update, std::int32_t message);
  std::int32_t of_gather(std::size_t update, std::int32_t message);
  std::int32_t of_bucket(std::size_t bucket);
  /// Sum over all devices number `sum`, of so many numbers.
  std::int32_t of_totals(std::int32_t sum, std::int64_t numbers, const Moment& finish);

 private:
  struct Key {
    PlannedCall::Kind kind;
    std::int32_t of, micro_batch;
    std::int64_t message;
    auto operator<=>(const Key&) const = default;
  };
  std::int32_t add(const Key& key, const std::function<PlannedCall()>& make);
  /// A number that the messages of a class have in common, and no others of the redistribution: the
  /// least class among the members, with its part. Without classes the message's own number.
  std::int64_t class_of(const Moves& moves, std::int32_t message);
  static PlannedCall between(const Moves& moves, std::int32_t message);
  const DistributedValue& gradient_of(std::size_t update) const;
  const Moves& gradient_moves(std::size_t update) const;
  PlannedCall sliced(std::size_t update, std::int32_t message, Collective kind) const;

  const ProgramPlan& plan_;
  PlannedTasks& made_;
  const Classes* classes_;
  std::map<Key, std::int32_t> known_;
  std::map<std::pair<const Moves*, std::int32_t>, std::int64_t> message_classes_;
};

class DeviceEmitter {
 public:
  DeviceEmitter(const ProgramPlan& plan, PlannedTasks& made, CallTable& calls, std::int32_t device);

  void emit();

 private:
  // emit_phases.cpp
  void emit_phases();
  void emit_phase(std::size_t job, std::int32_t micro_batch, std::int32_t tile);
  std::int32_t operand(const ValueUse& use, std::int32_t micro_batch, std::int32_t tile);
  void note_inputs();
  void hold_outputs();

  // emit_moves.cpp: what brings values to their readers
  /// A step of a value's redistribution, by its number on this device.
  struct ValueStep {
    std::size_t value;
    std::int32_t micro_batch, local;
  };
  /// A member's start or finish.
  struct CallEnd {
    std::int32_t call, member;
    bool starts;
  };
  void emit_moves();
  void emit_step(std::size_t value, std::int32_t micro_batch, std::int32_t step);
  void emit_sum(const ValueStep& at, const Step& step, const Moment& moment);
  void emit_assemble(const ValueStep& at, const Step& step, const Moment& moment);
  void emit_message(const ValueStep& at, const Step& step, const Moment& moment);
  void emit_end(const CallEnd& end, std::int32_t buffer, Moment moment, IdFields id);
  void emit_buckets();
  std::int32_t bucket_vector(std::size_t bucket);
  IdFields id_of(const ValueStep& step) const;
  std::int32_t moved(const ValueStep& step, std::int32_t buffer);
  bool is_greatest(std::size_t value) const;
  bool is_scattered(std::size_t update, std::int32_t message) const;

  // emit_updates.cpp
  void emit_updates();
  void emit_update(std::size_t update, std::int32_t place);
  void emit_counted_norms(std::size_t update, std::int32_t place, Moment moment);
  void emit_scatter(std::size_t update, std::int32_t place);
  void emit_gather(std::size_t update, std::int32_t place);
  std::int32_t update_operand(std::size_t update, std::int32_t place, const UpdateOperand& operand);
  /// What the device updates of a stored weight, and the gradient of that.
  std::int32_t weight_part(std::size_t update, std::int32_t place);
  std::int32_t gradient_part(std::size_t update, std::int32_t place);
  std::int32_t state(std::size_t update, std::int32_t place, const UpdateOperand& operand);
  std::int64_t padding_of(std::size_t update, std::int32_t place) const;

  // emit_totals.cpp: numbers that every device must know
  void emit_loss();
  void emit_output_sums();
  /// What the device has of a sum that is spread over its tiles and micro-batches; -1: nothing.
  std::int32_t local_total(std::size_t value, Moment moment, IdFields id);
  std::int32_t local_squares();
  void emit_squares(std::size_t update, std::int32_t place, std::int64_t copies, Moment moment,
                    std::vector<std::int32_t>& squares);
  std::vector<std::int32_t> counted_parts(std::size_t update, std::int32_t place,
                                          std::int32_t whole, Moment& moment, IdFields& id);
  /// The numbers added up over all devices; -1 stands for zero.
  std::vector<std::int32_t> emit_totals(std::int32_t sum, const std::vector<std::int32_t>& numbers,
                                        const Moment& start, const Moment& finish);
  std::int32_t emit_sum_of(std::vector<std::int32_t> numbers, std::int64_t copies, Moment moment,
                           IdFields id, std::int32_t of);
  void emit_guard(const std::vector<std::int32_t>& numbers);

  // device_emitter.cpp
  std::int32_t add(PlannedBuffer buffer);
  PlannedTask& add(PlannedTask task, const Moment& moment, IdFields id);
  std::int32_t add_key(KernelKey key);
  /// A box that the task takes from its next input.
  struct TakenBox {
    Region from;  ///< In the input.
    Region to;    ///< In what is assembled.
  };
  void add_box(Assemble& op, PlannedTask& task, const TakenBox& box);
  std::int32_t fixture(BufferRole role, std::int32_t index, const TensorSpec& spec);
  std::int32_t zeros(const TensorSpec& spec);
  std::int32_t number();
  /// Buffer `local` of a value on this device.
  std::int32_t buffer_of(std::size_t value, std::int32_t micro_batch, std::int32_t local);
  PlannedBuffer describe(std::size_t value, std::int32_t micro_batch, std::int32_t local);
  void join(std::size_t value, std::int32_t local, PlannedBuffer& made);
  /// The buffer that reader `role` of a value finds for its tile.
  std::int32_t read_by(std::size_t value, std::int32_t micro_batch, std::int32_t role,
                       std::int32_t tile);
  /// The value of a buffer in a layout: itself, or a copy, made right before `moment` unless it is
  /// there already.
  std::int32_t in_layout(std::int32_t buffer, Layout layout, const Moment& moment);
  /// The place of a tile among those of its set on this device.
  std::int32_t place_of(TileSetId set, std::int32_t tile) const;
  std::span<const std::int32_t> tiles_here(TileSetId set) const;
  std::int32_t kind_of(TileSetId set, std::int32_t tile) const;
  std::int32_t contribution_local(std::size_t value, std::size_t contribution,
                                  std::int32_t tile) const;
  const DistributedValue& value(std::size_t at) const { return plan_.distribution.values[at]; }
  const Outline& outline() const { return plan_.distribution.outline; }

  const ProgramPlan& plan_;
  PlannedTasks& made_;
  CallTable& calls_;
  const std::int32_t device_;
  std::vector<std::vector<std::int32_t>> locals_;  // by value and micro-batch: buffers, -1: not yet
  std::map<std::tuple<BufferRole, std::int32_t, std::string>, std::int32_t> fixtures_;
  struct Copy {
    std::int32_t buffer;
    std::size_t task;
  };
  std::map<std::pair<std::int32_t, Layout>, Copy> copies_;
  std::map<std::tuple<std::size_t, std::int32_t, int>, std::int32_t> parts_;  // of updates
  std::map<std::int32_t, std::int32_t> buckets_;                              // vectors
};

}  // namespace troika
