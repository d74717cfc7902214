// A task graph in the making: what the expanding passes know of each other's buffers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lower/lower.h"

namespace troika {

struct Draft {
  const LowerRequest& request;
  const Graph& graph;
  TaskGraph tasks;
  std::vector<Signature> signatures;  ///< Of whole operators, by OperatorId.
  std::vector<bool> wanted;           ///< Operators that something held depends on.
  std::vector<std::vector<BufferId>>
      values;  ///< [micro-batch][tensor]; invalid where nothing is wanted.
  std::map<std::string, BufferId> kept;  ///< Saved slots, by "operator.slot#micro-batch".
  std::vector<BufferId> parameters;      ///< By ParameterId.
  std::vector<BufferId>
      parameter_gradients;  ///< By ParameterId: the sum so far; invalid before the first part.
  std::map<std::string, BufferId> persistent;  ///< Scalars, control word, optimizer states, zeros.
  std::vector<BufferId> loss_sums, weight_sums;  ///< One per micro-batch.
};

Draft start_draft(const LowerRequest& request);

/// The tile of an operator that one micro-batch is.
Region micro_batch_tile(const Draft& draft, const Signature& signature, std::int64_t part);

struct BufferRequest {
  std::string name;
  TensorSpec spec;
  Category category = Category::activation;
  BufferId view_of{};
  bool persistent = false;
};
BufferId add_buffer(Draft& draft, const BufferRequest& request);
/// The persistent buffer of that name, made on first use.
BufferId persistent_buffer(Draft& draft, const BufferRequest& request);
BufferId scalars_buffer(Draft& draft);
BufferId control_buffer(Draft& draft);

/// Appends a task; its id counts within the fragment.
Task& add_task(Draft& draft, const std::string& fragment, const std::string& name,
               const KernelKey& key, const std::vector<BufferUse>& uses);
TaskId new_task_id(TaskGraph& tasks, const std::string& fragment);

/// Adds up buffers of one spec, in the order given; one buffer is returned as it is.
BufferId sum_of(Draft& draft, const std::string& fragment, const std::string& name,
                const std::vector<BufferId>& parts);

/// A gradient of a parameter arrived: it becomes, or is added to, the sum so far.
void add_parameter_gradient(Draft& draft, ParameterId parameter, BufferId part);

/// "name" or, when the batch is cut, "name#part".
std::string part_name(const Draft& draft, const std::string& name, std::int64_t part);

/// The key of an operator's phase on a tile.
KernelKey tile_key(const Signature& signature, const Op& op, Phase phase, const Region& tile);

}  // namespace troika
