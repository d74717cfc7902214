// The tasks of a device in numbers: what is simulated, and what binding gives names, regions and
// addresses to. Nothing here tells devices of one class apart but ids, messages and positions.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "lower/program_plan.h"
#include "taskgraph/task_graph.h"

namespace troika {

enum class BufferRole : std::uint8_t {
  value,         ///< Buffer `index` of value `of`; part: micro-batch.
  state,         ///< Optimizer state `index` of update `of`; part: place.
  slice,         ///< Part of the stored weight (index 0) or gradient (1) of update `of`, or the
                 ///< padding of the gradient (2); part: place.
  square,        ///< Square sum `index` of update `of`; part: place.
  counted,       ///< A box of update `of` that counts; index: see kMostCountedBoxes; part: place.
  counted_norm,  ///< The norms of box `index` of update `of`; part: place.
  scalars,       ///< `index`: lag of the tasks that read them.
  control,
  requests,    ///< Requests of the hosts.
  zero_read,   ///< Zeros that use `index` of job `of` reads, since nobody writes the value; part:
               ///< place.
  zero_tail,   ///< Zeros as long as the padding of the gradient of update `of`; part: place.
  zero_norms,  ///< Zeros as long as the norms of update `of`.
  zero_number,
  number,  ///< The result of task `index` of sum `of` over the batch.
  totals,  ///< Number `index` of sum `of` over all devices, or all of its numbers (-1).
  bucket,  ///< Vector of bucket `of`.
};

/// Operands of an update whose boxes are counted: those of the norms, and the gradient as clipping
/// needs it. States follow with their slots.
inline constexpr std::int32_t kCountedWeight = 0, kCountedGradient = 1, kCountedState = 2,
                              kCountedSquares = 63;
/// The boxes of a stored part that can be counted. The index of a counted buffer is the operand
/// times this, plus the box.
inline constexpr std::int32_t kMostCountedBoxes = 64;

/// The job, value or update `of` that decides the description of a buffer.
enum class BufferOwner : std::uint8_t { job, value, update, several_updates, nothing };

constexpr BufferOwner owner_of(BufferRole role) {
  switch (role) {
    case BufferRole::value:
      return BufferOwner::value;
    case BufferRole::zero_read:
      return BufferOwner::job;
    case BufferRole::state:
    case BufferRole::slice:
    case BufferRole::square:
    case BufferRole::counted:
    case BufferRole::counted_norm:
    case BufferRole::zero_tail:
    case BufferRole::zero_norms:
      return BufferOwner::update;
    case BufferRole::bucket:
      return BufferOwner::several_updates;
    case BufferRole::scalars:
    case BufferRole::control:
    case BufferRole::requests:
    case BufferRole::zero_number:
    case BufferRole::number:
    case BufferRole::totals:
      break;  // numbers, of one shape
  }
  return BufferOwner::nothing;
}

/// Names a buffer of a device by what it is for. A place counts the tiles of an operator, or the
/// stored parts of a parameter, that are on the device.
struct BufferRef {
  BufferRole role = BufferRole::value;
  std::uint8_t copy = 0;  ///< 0: the buffer itself; else a copy of it in layout `copy` - 1.
  std::uint16_t part = 0;
  std::int32_t of = -1, index = -1;

  bool is_copy() const { return copy > 0; }
  Layout copy_layout() const { return static_cast<Layout>(copy - 1); }
  BufferRef original() const { return {role, 0, part, of, index}; }
  BufferRef in(Layout layout) const {
    return {role, static_cast<std::uint8_t>(static_cast<int>(layout) + 1), part, of, index};
  }
  auto operator<=>(const BufferRef&) const = default;
};

struct PlannedUse {
  BufferRef buffer;
  Access access = Access::read;

  bool operator==(const PlannedUse&) const = default;
};

enum class WorkKind : std::uint8_t {
  phase,     ///< Job `of` at place `index`.
  update,    ///< Phase `index` of update `of`.
  sum,       ///< For value `of`.
  assemble,  ///< For value `of`.
  reorder,
  square_sum,  ///< For update `of`.
  guard,
  start,   ///< Begins a communication, which `call`, `of` and `index` name,
  finish,  ///< and its end.
};

/// A communication is named by what it is for.
enum class CallKind : std::uint8_t {
  moves,    ///< Message `index` of the redistribution of value `of`.
  scatter,  ///< Sums the gradient of update `of`, in the place of message `index`,
  gather,   ///< and shares the updated weight.
  bucket,   ///< `of`: bucket.
  totals,   ///< `of`: sum over all devices.
};

struct PlannedTask {
  Turn turn;
  PackedId id;
  const KernelUnit* unit = nullptr;  ///< The kernel of a phase or an update.
  WorkKind kind = WorkKind::phase;
  CallKind call = CallKind::moves;
  std::int16_t micro_batch = 0, lag = 0;
  std::int32_t of = -1, index = -1;
  std::int32_t movement = -1;  ///< Number of another computing task in the MovementTable.
  std::int32_t member = -1;    ///< The member whose start or finish it is.
  /// In Fragment::uses, and of an assemble its launch position in Fragment::positions.
  std::int32_t first_use = 0, first_position = 0;
  std::int16_t use_count = 0;
  std::int32_t position_count = 0;

  bool computes() const { return kind != WorkKind::start && kind != WorkKind::finish; }
  bool operator==(const PlannedTask&) const = default;
};

/// A buffer that some task wants in another layout than it has.
struct WantedCopy {
  BufferRef copy;
  std::int32_t lag = 0;
  Turn turn;  ///< The task's.

  bool operator==(const WantedCopy&) const = default;
};

/// Tasks of one device that depend on one thing: a job, a value, a parameter.
struct Fragment {
  std::vector<PlannedTask> tasks;
  std::vector<PlannedUse> uses;
  std::vector<std::int64_t> positions;
  std::vector<WantedCopy> wanted;

  bool is_empty() const { return tasks.empty() && wanted.empty(); }
  void clear() {
    tasks.clear();
    uses.clear();
    positions.clear();
    wanted.clear();
  }
  std::span<const PlannedUse> uses_of(const PlannedTask& task) const {
    return std::span(uses).subspan(as_index(task.first_use), as_index(task.use_count));
  }
  std::span<const std::int64_t> position_of(const PlannedTask& task) const {
    return std::span(positions).subspan(as_index(task.first_position),
                                        as_index(task.position_count));
  }
  bool operator==(const Fragment&) const = default;
};

/// A buffer that the host writes or reads.
struct HostBuffer {
  std::string name;
  BufferRef buffer;
};

}  // namespace troika
