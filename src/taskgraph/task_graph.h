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

namespace troika {

using BufferId = Id<struct BufferTag>;
using CommunicationId = Id<struct CommunicationTag>;

/// Stable name of a task: its place inside the fragment (one per operator, edge or parameter) that
/// made it, so nothing shifts when another fragment changes.
struct TaskId {
  std::int32_t fragment = -1;
  std::int32_t index = -1;

  auto operator<=>(const TaskId&) const = default;
};

/// What a buffer's bytes are counted as in the memory table.
enum class Category { parameter, gradient, optimizer, activation, workspace };
std::string_view to_string(Category category);

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

/// What several devices do together, each with one buffer: it starts on each of them where its
/// start task stands, and is over where its finish task has run.
struct Communication {
  std::string name;
  CollectiveCall call;  ///< Counts and ranges in elements of the stored buffers.
  DType dtype = DType::f32;
  CombineRule rule = CombineRule::sum;
  std::vector<DeviceId> devices;  ///< One per member.
  std::vector<BufferId> buffers;  ///< One per member; all equally long. See vectors_in_buffer.
  std::string algorithm;          ///< Empty before the choice is made.
  SimTime time{};                 ///< Predicted.
  std::uint64_t urgency = 0;      ///< Of several under way the greatest goes first.

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
  std::string name;  ///< "conv1 forward", with "#2" for the third micro-batch.
  DeviceId device;
  KernelKey key;
  KernelChoice choice;          ///< Filled in by the layout pass.
  std::vector<BufferUse> uses;  ///< In the order of operands_of(key).
  /// Where the tile lies: launch arguments, position_count(key) of them.
  std::vector<std::int64_t> position;
  BufferId scratch;
  /// Of a tile that several devices compute: how many tasks of the fragment before this one the
  /// first of them stands. They take the same kernel, so that they have the same bits.
  std::int32_t replica = 0;
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
  std::vector<std::string> fragments;  ///< What TaskId::fragment counts.
  std::vector<BufferSpec> buffers;
  std::vector<Task> tasks;
  std::vector<Communication> communications;
  std::vector<Dependency> dependencies;
  std::map<std::string, BufferId> inputs;   ///< Written by the host before the step.
  std::map<std::string, BufferId> outputs;  ///< Read by the host after it.
  std::vector<Bytes> arena;                 ///< Bytes of non-persistent memory per device.

  const BufferSpec& operator[](BufferId id) const { return buffers[id.index()]; }
  BufferSpec& operator[](BufferId id) { return buffers[id.index()]; }
  const Communication& operator[](CommunicationId id) const { return communications[id.index()]; }
  /// The buffer whose memory this one shares in the end, and where in it.
  BufferId root(BufferId id) const;
  Bytes offset_in_root(BufferId id) const;
  bool operator==(const TaskGraph&) const = default;
};

/// What a program stores of the model.
std::vector<StoredSlice> stored_slices(const TaskGraph& graph);

/// Reads after writes, writes after reads, writes after writes, within a step and to the next one
/// for memory that outlives a pass. That a communication ends on no member before it has started on
/// all is not listed: it goes without saying, and would be a pair for every two members. Larger
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
/// step. Tasks of equal lag are in listed order. A task that lags more stands before what must wait
/// for it (by memory, by the dependencies, or as a finish before the next start of its
/// communication), as late as it can. So of two tasks that conflict, the one of the earlier step is
/// first.
std::vector<std::size_t> loop_order(const TaskGraph& graph);

/// Hash of everything that must agree between ranks, and between the prediction and the run.
std::uint64_t hash(const TaskGraph& graph);

/// One line per buffer and task; for tests and for reading.
std::string to_text(const TaskGraph& graph);
/// Graphviz.
std::string to_dot(const TaskGraph& graph);

}  // namespace troika
