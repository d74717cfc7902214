// A task graph in the making: what the expanding passes know of each other's buffers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lower/fragments.h"
#include "lower/lower.h"
#include "lower/value.h"
#include "strategy/tiles.h"

namespace troika {

/// Who has a buffer so far.
struct BufferUsers {
  std::vector<std::size_t> writers;  ///< Tasks that compute it.
  bool is_read = false;
  bool is_viewed = false;
};

struct Draft {
  const LowerRequest& request;
  const Graph& graph;
  FragmentCache& fragments;
  TaskGraph tasks;
  std::vector<BufferUsers> users{};        ///< By BufferId.
  std::vector<Signature> signatures;       ///< Of whole operators, by OperatorId.
  std::vector<bool> wanted;                ///< Operators that something held depends on.
  std::vector<std::vector<Value>> values;  ///< [micro-batch][tensor]; empty before it is written.
  std::map<std::string, Value> kept;       ///< Saved slots and statistics, by part_name.
  std::vector<Value> parameters;           ///< By ParameterId: the stored slices, and copies.
  std::vector<std::vector<ValuePiece>> slices;  ///< By ParameterId: the stored ones.
  std::vector<Value> parameter_gradients;       ///< By ParameterId; over all micro-batches so far.
  std::map<std::string, BufferId> persistent;   ///< By name.
  std::map<std::string, std::pair<std::int32_t, std::int32_t>> task_ids;  ///< Fragment, tasks.
  std::map<DeviceId, BufferId> loss_sums, weight_sums;  ///< Of the step, on every device.

  std::int64_t micro_batches() const { return request.strategy->micro_batches; }
  bool has_peers() const { return request.machine->devices.size() > 1; }
};

/// Borrows both.
Draft start_draft(const LowerRequest& request, FragmentCache& fragments);

/// Every operator's tiles of a micro-batch.
std::vector<Tile> tiles_of(const Draft& draft, const Operator& op, const Signature& signature,
                           std::int64_t part);

struct BufferRequest {
  std::string name;
  TensorSpec spec;
  DeviceId device;
  Category category = Category::activation;
  BufferId view_of{};
  Bytes view_offset{};
  bool persistent = false;
};
BufferId add_buffer(Draft& draft, const BufferRequest& request);

/// What passing copies are counted as: those of parameters are none.
inline Category category_of_copies(Category original) {
  return original == Category::parameter ? Category::workspace : original;
}
/// The persistent buffer of that name, made on first use.
BufferId persistent_buffer(Draft& draft, const BufferRequest& request);
BufferId scalars_buffer(Draft& draft, DeviceId device);
BufferId control_buffer(Draft& draft, DeviceId device);
/// Nobody writes it, so it stays as it was allocated.
BufferId zeros_buffer(Draft& draft, const TensorSpec& spec, DeviceId device);

/// Appends a task; its id counts within the fragment.
Task& add_task(Draft& draft, const std::string& fragment, Task task);
TaskId new_task_id(Draft& draft, const std::string& fragment);

/// Adds up buffers of one spec and device, in the order given, or pairwise like a tree where the
/// strategy asks for a fixed order; one buffer is returned as it is.
BufferId sum_of(Draft& draft, const std::string& fragment, const std::string& name,
                const std::vector<BufferId>& parts);

/// "name" or, when the batch is cut, "name#part".
std::string part_name(const Draft& draft, const std::string& name, std::int64_t part);
/// "name", for a part of it "name[0:4]", and where there are several devices "name[0:4]@1".
std::string slice_name(const Draft& draft, const std::string& name, const Shape& whole,
                       const Placed& place);

}  // namespace troika
