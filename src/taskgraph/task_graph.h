// What runs and what is simulated: tasks on devices over buffers, in listed order, with their
// dependencies. The body of a loop: a dependency may point at a later step, and a task may run
// beside a later step than its own. Plain values (docs/design.md, Lowering).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collective/combine_rule.h"
#include "collective/recipe.h"
#include "machine/machine.h"
#include "taskgraph/kernel_choice.h"
#include "taskgraph/kernel_key.h"
#include "taskgraph/message_phases.h"
#include "taskgraph/runtime_costs.h"
#include "taskgraph/storage.h"
#include "taskgraph/turn.h"

namespace troika {

using BufferId = Id<struct BufferTag>;
using CommunicationId = Id<struct CommunicationTag>;

/// Stable name of a task: of a lowered one the two halves of its packed id, so nothing shifts when
/// another task changes.
struct TaskId {
  std::int32_t fragment = -1;
  std::int32_t index = -1;

  auto operator<=>(const TaskId&) const = default;
};
/// The two halves of a packed id.
constexpr TaskId task_id(PackedId id) {
  return {static_cast<std::int32_t>(id.bits >> 32), static_cast<std::int32_t>(id.bits)};
}
/// The inverse.
constexpr PackedId packed_id(TaskId id) {
  return {static_cast<std::uint64_t>(static_cast<std::uint32_t>(id.fragment)) << 32 |
          static_cast<std::uint32_t>(id.index)};
}

struct BufferSpec {
  std::string name;
  TensorSpec spec;
  Layout layout = Layout::plain;
  DeviceId device;
  Category category = Category::activation;
  bool persistent = false;  ///< Outlives the step; shared by name between the programs of a run.
  bool held = false;        ///< Read by the host after the step, so nothing may take its place.
  BufferId view_of;         ///< Shares the memory of this buffer,
  Bytes view_offset{};      ///< from here on.
  Bytes offset{};           ///< In the device's arena; meaningless for persistent buffers.
  /// What it holds of the model: this region of the tensor, parameter or optimizer state of that
  /// name and shape. Empty for values that the host never sees.
  std::string part_of{};
  Region region{};
  Shape whole{};
  /// Only these elements of the region, in row-major order; unset: all of them.
  std::optional<Range> run{};
  Bytes padding{};  ///< Memory behind its end that views of it may use.

  Bytes bytes() const { return stored_bytes(layout, spec.shape, spec.dtype) + padding; }
  bool operator==(const BufferSpec&) const = default;
};

struct BufferUse {
  BufferId buffer;
  Access access = Access::read;

  bool operator==(const BufferUse&) const = default;
};

/// Stable name of a communication, the same on every rank: ranks see different ones, but any two
/// devices number the messages between them in this order.
struct CollectiveId {
  std::int32_t kind = -1;  ///< -1: it has no name.
  std::int32_t of = 0;     ///< Number of the value, parameter, bucket or sum.
  std::int32_t micro_batch = 0;
  std::int32_t message = 0;

  auto operator<=>(const CollectiveId&) const = default;
};

/// A collective or message between several devices, each with one buffer: it starts on each of them
/// where its start task stands, and is over where its finish task has run.
struct Communication {
  CollectiveId id{};
  std::string name;
  CollectiveCall call;  ///< Counts and ranges in elements of the stored buffers.
  DType dtype = DType::f32;
  CombineRule rule = CombineRule::sum;
  std::vector<DeviceId> devices;  ///< One per member.
  /// One per member; all equally long. See vectors_in_buffer. Not valid where the member's device
  /// is none of the graph's.
  std::vector<BufferId> buffers;
  std::string algorithm;  ///< Empty before the choice is made.
  SimTime time{};         ///< Predicted, if nothing else runs.
  /// What it occupies, for the simulator; only in a graph of all devices. None: it is nothing but
  /// that time.
  SharedPhases phases{};
  std::uint64_t urgency = 0;  ///< Of several under way the greatest goes first.

  /// Of a member that is on a device of the graph: there is at least one.
  BufferId any_buffer() const;
  Bytes bytes() const { return size_of(dtype) * call.count; }
  bool operator==(const Communication&) const = default;
};

/// A member's buffer is its vector; of an all_to_all what it sends and, behind it, what it gets.
constexpr std::int64_t vectors_in_buffer(Collective kind) {
  return kind == Collective::all_to_all ? 2 : 1;
}

enum class TaskKind {
  compute,
  start,   ///< Of a communication: the buffer is handed over,
  finish,  ///< and got back.
};

struct Task {
  TaskId id;
  Turn turn{};       ///< When it runs in a pass of the loop; see loop_order.
  std::string name;  ///< "conv1 forward", with "#2" for the third micro-batch.
  DeviceId device;
  KernelKey key;
  KernelChoice choice;          ///< Filled in by the layout pass.
  std::vector<BufferUse> uses;  ///< In the order of operands_of(key).
  /// Where the tile lies: launch arguments, position_count(key) of them.
  std::vector<std::int64_t> position;
  BufferId scratch;
  bool is_update = false;  ///< Part of the optimizer's share of a step.
  TaskKind kind = TaskKind::compute;
  CommunicationId communication{};  ///< Of a start or finish, which have no key and no choice,
  int member = -1;                  ///< and who of it this device is.
  /// It belongs to step t and runs in the pass of the loop beside step t + lag. A later task of its
  /// own step that conflicts with it lags at least as much.
  int lag = 0;

  bool computes() const { return kind == TaskKind::compute; }
  bool operator==(const Task&) const = default;
};

/// `to` of a step waits for `from` of the step that is `distance` steps earlier, where both count
/// the steps that the tasks belong to. In passes of the loop they are `distance` plus the lag of
/// `to` minus the lag of `from` apart, which must not be negative.
struct Dependency {
  std::size_t from = 0;  ///< Index into tasks.
  std::size_t to = 0;
  int distance = 0;  ///< Any number of steps from 0 on.

  auto operator<=>(const Dependency&) const = default;
};

/// A part of a parameter or optimizer state in the memory of a device, as some program stores it.
struct StoredSlice {
  std::string name;  ///< Of the buffer.
  std::string of;    ///< Of the parameter or state.
  Region region;
  DeviceId device;
  Layout layout = Layout::plain;
  std::int64_t offset = 0;  ///< Where it begins in the buffer, in elements.
};

struct TaskGraph {
  std::string name;
  /// The devices that it has tasks and buffers of, in ascending order. Empty: all of the machine.
  std::vector<DeviceId> devices;
  std::vector<BufferSpec> buffers;
  std::vector<Task> tasks;
  std::vector<Communication> communications;
  std::vector<Dependency> dependencies;
  std::map<std::string, BufferId> inputs;   ///< Written by the host before the step.
  std::map<std::string, BufferId> outputs;  ///< Read by the host after it.
  std::vector<Bytes> arena;                 ///< Bytes of non-persistent memory per device.
  std::vector<StateEntry> storage;          ///< Of the model, on all devices of the machine.
  std::vector<DirectedLink> links{};        ///< Those of the machine, if phases are filled in.
  RuntimeCosts runtime{};                   ///< Filled in with the links.
  std::uint64_t plan_hash = 0;              ///< Equal on ranks that lowered the same program.

  const BufferSpec& operator[](BufferId id) const { return buffers[id.index()]; }
  BufferSpec& operator[](BufferId id) { return buffers[id.index()]; }
  const Communication& operator[](CommunicationId id) const { return communications[id.index()]; }
  bool holds(DeviceId device) const;
  /// The buffer whose memory this one shares in the end, and where in it.
  BufferId root(BufferId id) const;
  Bytes offset_in_root(BufferId id) const;
  bool operator==(const TaskGraph&) const = default;
};

/// What the graph's devices store of the model.
std::vector<StoredSlice> stored_slices(const TaskGraph& graph);

/// Reads after writes, writes after reads, writes after writes, within a step and to the next one
/// for memory that outlives a pass. A communication ends on no member before it has started on all.
/// This is implied and not listed, because it would take one entry per pair of members. Larger
/// distances do not come from memory, because each step writes it anew: they follow from these.
std::vector<Dependency> find_dependencies(const TaskGraph& graph);

/// Of all tasks: how many steps are under way at once, less one.
int largest_lag(const TaskGraph& graph);
/// By root buffer: whether the memory has to keep its value from one pass of the loop to the next,
/// because the tasks that use it have different lags. One copy is enough for lags that differ by
/// one: the pass runs the lagging task before the first one that conflicts with it. Lags that
/// differ by more would need several copies, which do not exist yet (see check_lags.h). Memory
/// whose tasks all have the same lag, whichever, is used within a pass.
std::vector<bool> find_memory_across_passes(const TaskGraph& graph);
/// The order, one for all devices, in which a pass of the loop runs the tasks, each for its own
/// step. Tasks of equal lag are in listed order. A task that lags more stands before those of later
/// turns, and before what must wait for it (by memory, by the dependencies, or as a finish before
/// the next start of its communication), as late as it can. So of two tasks that conflict, the one
/// of the earlier step is first. Lowering gives turns that leave nothing to wait for, so that the
/// order on a device does not depend on which other devices the graph has.
std::vector<std::size_t> loop_order(const TaskGraph& graph);

/// One line per buffer and task; for tests and for reading.
std::string to_text(const TaskGraph& graph);
/// Graphviz.
std::string to_dot(const TaskGraph& graph);

}  // namespace troika
