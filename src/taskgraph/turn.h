// The two numbers of a task: its id, which says what it is, and its turn, which says when a device
// runs it. Both are packed into 64 bits and depend on nothing but the task itself, so that a change
// elsewhere leaves them as they are.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace troika {

/// What a task works for.
enum class Subject : std::uint8_t { operation, tensor, parameter, step };

/// Fields of an id, in the order in which ids compare. A field that is too small for a model, a
/// machine or a split makes the plan infeasible (why_out_of_ids, OutOfIds).
struct IdFields {
  std::uint32_t micro_batch = 0;  ///< 10 bits.
  std::uint32_t phase = 0;        ///< 4 bits: of the operator, or what is done for the subject.
  Subject subject = Subject::operation;  ///< 2 bits.
  /// 16 bits: of the operator, tensor or parameter; of a reorder, of the value, update or phase.
  std::uint32_t number = 0;
  std::uint32_t index = 0;   ///< 16 bits: tile or step on its device, with its role.
  std::uint32_t device = 0;  ///< 16 bits.

  bool operator==(const IdFields&) const = default;
};

/// A program has more of something than a field can count. Some fields depend on how operators are
/// split, so it is noticed when tasks are numbered.
class OutOfIds : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct PackedId {
  std::uint64_t bits = 0;

  auto operator<=>(const PackedId&) const = default;
};
PackedId pack(const IdFields& fields);
IdFields unpack(PackedId id);

/// Position relative to the operator that a task is anchored to.
enum class Side : std::uint8_t { before, at, after };

/// Fields of a turn, in the order in which turns compare.
struct TurnFields {
  std::uint32_t slot = 0;    ///< 12 bits: forward and backward of each micro-batch, then updates.
  std::uint32_t place = 0;   ///< 16 bits: of the operator among those of its slot.
  std::uint32_t phase = 0;   ///< 4 bits: of the operator.
  Side side = Side::at;      ///< 2 bits.
  std::uint32_t number = 0;  ///< 16 bits: of what it works for, so that steps for it stay together.
  std::uint32_t rank = 0;    ///< 14 bits: among those.

  bool operator==(const TurnFields&) const = default;
};

/// Ranks of the tasks of one sort, [first, end): tasks of the next sort come behind all of them.
struct RankRange {
  std::uint32_t first = 0, end = 0;
  const char* tasks = "";  ///< What they are, for messages.
};
/// The rank at this offset in a range. Throws OutOfIds if it would be one of the next range.
std::uint32_t rank_in(const RankRange& range, std::uint64_t offset);

struct Turn {
  std::uint64_t bits = 0;

  auto operator<=>(const Turn&) const = default;
};
Turn pack(const TurnFields& fields);
TurnFields unpack(Turn turn);

/// How urgent a message is whose first reader has this lag and turn: the sooner it is needed, the
/// greater the number. The next step comes behind all of this one. Messages for one tensor or
/// parameter that are read at one place are equally urgent.
std::uint64_t urgency_of(std::int32_t lag, Turn reader);
/// Of a message at this place of a plan's list, from 0 on: before all those that are not listed.
std::uint64_t listed_urgency(std::int32_t place);

/// What ids and turns must count.
struct IdCounts {
  std::int64_t micro_batches = 1, operators = 0, tensors = 0, parameters = 0, devices = 1;
  /// Phases of operators, and what goes from phase to phase: tensors, gradients, kept values.
  std::int64_t phases = 0, values = 0;
};
/// Why a program has more of something than ids can count. Nothing if it has not.
[[nodiscard]] std::optional<std::string> why_out_of_ids(const IdCounts& counts);

}  // namespace troika
