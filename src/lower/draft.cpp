#include "lower/draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ops/step_scalars.h"

namespace troika {
namespace {

/// Marks the operators that the loss or a held output needs.
std::vector<bool> find_wanted(const LowerRequest& request) {
  const Graph& graph = *request.graph;
  std::vector<bool> tensors(graph.tensors.size()), operators(graph.operators.size());
  if (request.optimizer != nullptr) {
    TROIKA_CHECK(graph.loss.has_value(), "a graph without a loss cannot train");
    tensors[graph.loss->loss_sum.index()] = true;
  }
  for (const NamedTensor& output : graph.outputs)
    if (std::ranges::count(request.outputs, output.name) > 0) tensors[output.tensor.index()] = true;
  for (std::size_t at = graph.operators.size(); at-- > 0;) {
    const Operator& op = graph.operators[at];
    operators[at] =
        std::ranges::any_of(op.outputs, [&](TensorId output) { return tensors[output.index()]; });
    for (TensorId input : op.inputs)
      tensors[input.index()] = tensors[input.index()] || operators[at];
  }
  return operators;
}

void add_inputs(Draft& draft) {
  const Graph& graph = draft.graph;
  std::int64_t parts = draft.request.strategy->micro_batches;
  std::vector<bool> read(graph.tensors.size());
  for (std::size_t at = 0; at < graph.operators.size(); ++at) {
    for (TensorId input : graph.operators[at].inputs)
      read[input.index()] = read[input.index()] || draft.wanted[at];
  }
  for (TensorId input : graph.inputs) {
    if (!read[input.index()]) continue;
    for (std::int64_t part = 0; part < parts; ++part) {
      TensorSpec spec = graph[input].spec;
      spec.shape[0] = part_of(spec.shape[0], part, parts).extent();
      std::string name = part_name(draft, graph[input].name, part);
      BufferId buffer = add_buffer(draft, {name, spec});
      draft.tasks.inputs[name] = buffer;
      draft.values[static_cast<std::size_t>(part)][input.index()] = buffer;
    }
  }
}

}  // namespace

Draft start_draft(const LowerRequest& request) {
  Draft draft{.request = request, .graph = *request.graph};
  draft.tasks.name = request.name;
  draft.tasks.arena.resize(request.machine->devices.size());
  for (const Operator& op : draft.graph.operators)
    draft.signatures.push_back(signature(draft.graph, op));
  draft.wanted = find_wanted(request);
  draft.values.assign(static_cast<std::size_t>(request.strategy->micro_batches),
                      std::vector<BufferId>(draft.graph.tensors.size()));
  for (const Parameter& parameter : draft.graph.parameters)
    draft.parameters.push_back(add_buffer(draft, {.name = parameter.name,
                                                  .spec = parameter.spec,
                                                  .category = Category::parameter,
                                                  .persistent = true}));
  draft.parameter_gradients.resize(draft.graph.parameters.size());
  add_inputs(draft);
  return draft;
}

Region micro_batch_tile(const Draft& draft, const Signature& signature, std::int64_t part) {
  Region tile = signature.whole_tile();
  std::int64_t parts = draft.request.strategy->micro_batches;
  int axis = signature.axis("n");
  if (parts > 1 && axis >= 0) {
    auto at = static_cast<std::size_t>(axis);
    tile.ranges[at] = part_of(signature.axes[at].extent, part, parts);
  }
  return tile;
}

BufferId add_buffer(Draft& draft, const BufferRequest& request) {
  BufferId id(draft.tasks.buffers.size());
  draft.tasks.buffers.push_back({.name = request.name,
                                 .spec = request.spec,
                                 .device = DeviceId(0u),
                                 .category = request.category,
                                 .persistent = request.persistent,
                                 .view_of = request.view_of});
  return id;
}

BufferId persistent_buffer(Draft& draft, const BufferRequest& request) {
  auto found = draft.persistent.find(request.name);
  if (found != draft.persistent.end()) return found->second;
  BufferRequest persistent = request;
  persistent.persistent = true;
  return draft.persistent[request.name] = add_buffer(draft, persistent);
}

BufferId scalars_buffer(Draft& draft) {
  return persistent_buffer(draft,
                           {"step.scalars", {{kScalarCount}, DType::f64}, Category::workspace});
}

BufferId control_buffer(Draft& draft) {
  return persistent_buffer(draft,
                           {"step.control", {{kControlCount}, DType::f64}, Category::workspace});
}

TaskId new_task_id(TaskGraph& tasks, const std::string& fragment) {
  auto found = std::ranges::find(tasks.fragments, fragment);
  auto number = static_cast<std::int32_t>(found - tasks.fragments.begin());
  if (found == tasks.fragments.end()) tasks.fragments.push_back(fragment);
  std::int32_t index = 0;
  for (const Task& task : tasks.tasks)
    if (task.id.fragment == number) index = std::max(index, task.id.index + 1);
  return {number, index};
}

Task& add_task(Draft& draft, const std::string& fragment, const std::string& name,
               const KernelKey& key, const std::vector<BufferUse>& uses) {
  Task task{.id = new_task_id(draft.tasks, fragment),
            .name = name,
            .device = DeviceId(0u),
            .key = key,
            .uses = uses};
  draft.tasks.tasks.push_back(task);
  return draft.tasks.tasks.back();
}

BufferId sum_of(Draft& draft, const std::string& fragment, const std::string& name,
                const std::vector<BufferId>& parts) {
  if (parts.size() == 1) return parts[0];
  const BufferSpec& first = draft.tasks[parts[0]];
  KernelKey key{Sum{.count = static_cast<std::int64_t>(parts.size())}, {}, Phase::forward, {}};
  std::vector<BufferUse> uses;
  for (BufferId part : parts) {
    key.inputs.push_back(first.spec);
    uses.push_back({part, Access::read});
  }
  BufferId sum = add_buffer(draft, {name, first.spec, first.category});
  uses.push_back({sum, Access::write});
  add_task(draft, fragment, name + " sum", key, uses);
  return sum;
}

void add_parameter_gradient(Draft& draft, ParameterId parameter, BufferId part) {
  BufferId& so_far = draft.parameter_gradients[parameter.index()];
  const std::string& name = draft.graph[parameter].name;
  if (!so_far.valid()) {
    so_far = part;
    return;
  }
  std::string sum_name = draft.tasks[part].name + ".sum";
  so_far = sum_of(draft, "gradient " + name, sum_name, {so_far, part});
}

std::string part_name(const Draft& draft, const std::string& name, std::int64_t part) {
  return draft.request.strategy->micro_batches == 1 ? name : fmt::format("{}#{}", name, part);
}

KernelKey tile_key(const Signature& signature, const Op& op, Phase phase, const Region& tile) {
  KernelKey key{localize(op, signature, tile), {}, phase, {}};
  for (int slot : signature.slots_of(Role::input)) {
    const Slot& input = signature.slots[static_cast<std::size_t>(slot)];
    key.inputs.push_back({region_of(input, tile).shape(), input.spec.dtype});
  }
  return key;
}

}  // namespace troika
