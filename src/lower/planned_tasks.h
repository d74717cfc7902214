// The tasks of some devices in numbers: what is simulated, and what binding gives names, regions
// and addresses to.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lower/classes.h"
#include "lower/program_plan.h"
#include "taskgraph/task_graph.h"

namespace troika {

enum class BufferRole : std::uint8_t {
  value,            ///< Buffer `index` of value `of` on the device.
  state,            ///< Optimizer state `index` of update `of`.
  slice,            ///< Of update `of`: the part of a stored weight (index 0) or gradient (1).
  scalars,          ///< `index`: lag of the tasks that read them.
  control,
  requests,         ///< Of the hosts.
  zeros,
  number,           ///< Of a step: sums of losses, norms.
  totals,           ///< Of sum `of` over all devices; `index` is the number's place in it, or -1.
  bucket,           ///< Vector of bucket `of`.
  copy,             ///< Of buffer `index` in another layout.
  scratch,
};

struct PlannedBuffer {
  BufferRole role = BufferRole::value;
  std::int32_t of = -1, index = -1;
  std::int32_t micro_batch = 0;
  std::int32_t device = 0;
  TensorSpec spec;
  Layout layout = Layout::plain;
  Category category = Category::activation;
  bool persistent = false, held = false;
  std::int32_t view_of = -1;
  Bytes view_offset{}, padding{};
};

struct PlannedUse {
  std::int32_t buffer = -1;
  Access access = Access::read;
};

enum class WorkKind : std::uint8_t {
  phase,     ///< Job `of` on tile `index`.
  update,    ///< Phase `index` of update `of`.
  sum,       ///< For value `of`.
  assemble,  ///< For value `of`.
  reorder,
  square_sum,  ///< For update `of`.
  guard,
  start,
  finish,
};

struct PlannedTask {
  Turn turn;
  PackedId id;
  WorkKind kind = WorkKind::phase;
  std::int32_t of = -1, index = -1;
  std::int32_t micro_batch = 0, device = 0, lag = 0;
  const KernelUnit* unit = nullptr;  ///< Of a phase or an update.
  std::int32_t key = -1;             ///< Of other computing tasks: into PlannedTasks::keys.
  std::int32_t call = -1, member = -1;  ///< Of a start or finish.
  /// Of an assemble: its launch position, a part of PlannedTasks::positions.
  std::int32_t first_position = 0, position_count = 0;
  std::vector<PlannedUse> uses{};
  std::int32_t scratch = -1;
};

/// A communication between all its members, on whatever device.
struct PlannedCall {
  enum class Kind : std::uint8_t { moves, scatter, gather, bucket, totals };
  Kind kind = Kind::moves;
  std::int32_t of = -1;  ///< Value, update, bucket or sum.
  std::int32_t micro_batch = 0;
  std::int32_t message = -1;  ///< Of a redistribution.
  CollectiveCall call;        ///< Without nodes, processes and algorithm.
  DType dtype = DType::f32;
  CombineRule rule = CombineRule::sum;
  std::vector<std::int32_t> devices;  ///< One per member.
  std::vector<std::int32_t> buffers;  ///< One per member; -1 where the device is not planned here.
  Turn finish;                        ///< How urgent it is: the turn of its first reader.
  std::int32_t lag = 0;               ///< Of the finish.
};

struct PlannedTasks {
  std::vector<PlannedBuffer> buffers;
  std::vector<PlannedTask> tasks;
  std::vector<PlannedCall> calls;
  std::vector<KernelKey> keys;
  std::vector<std::int64_t> positions;
  std::map<std::string, std::int32_t> inputs, outputs;  ///< Buffers, by the host's name.
};

/// What these devices do.
PlannedTasks plan_tasks(const ProgramPlan& plan, const std::vector<std::int32_t>& devices);

/// What the first device of each class does. Calls of a class are one call, which has the members
/// of one of them.
PlannedTasks plan_folded(const ProgramPlan& plan, const Classes& classes);

}  // namespace troika
