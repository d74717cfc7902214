#include "lower/draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "lower/place_parameters.h"
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

BufferId sum_in_order(Draft& draft, const std::string& fragment, const std::string& name,
                      const std::vector<BufferId>& parts) {
  const BufferSpec first = draft.tasks[parts[0]];
  KernelKey key{Sum{.count = static_cast<std::int64_t>(parts.size())}, {}, Phase::forward, {}};
  std::vector<BufferUse> uses;
  for (BufferId part : parts) {
    key.inputs.push_back(first.spec);
    uses.push_back({part, Access::read});
  }
  BufferId sum = add_buffer(draft, {name, first.spec, first.device, first.category});
  uses.push_back({sum, Access::write});
  add_task(draft, fragment,
           {.name = name + " sum", .device = first.device, .key = key, .uses = uses});
  return sum;
}

}  // namespace

Draft start_draft(const LowerRequest& request, FragmentCache& fragments) {
  Draft draft{.request = request, .graph = *request.graph, .fragments = fragments};
  draft.tasks.name = request.name;
  draft.tasks.arena.resize(request.machine->devices.size());
  for (const Operator& op : draft.graph.operators)
    draft.signatures.push_back(signature(draft.graph, op));
  draft.wanted = find_wanted(request);
  for (std::int64_t part = 0; part < request.strategy->micro_batches; ++part) {
    std::vector<Value>& values = draft.values.emplace_back();
    for (const Tensor& tensor : draft.graph.tensors)
      values.push_back({.name = part_name(draft, tensor.name, part), .spec = tensor.spec});
  }
  place_parameters(draft);
  return draft;
}

std::vector<Tile> tiles_of(const Draft& draft, const Operator& op, const Signature& signature,
                           std::int64_t part) {
  return tiles_of(signature, split_of(*draft.request.strategy, op.name),
                  {part, draft.micro_batches()});
}

BufferId add_buffer(Draft& draft, const BufferRequest& request) {
  BufferId id(draft.tasks.buffers.size());
  draft.tasks.buffers.push_back({.name = request.name,
                                 .spec = request.spec,
                                 .device = request.device,
                                 .category = request.category,
                                 .persistent = request.persistent,
                                 .view_of = request.view_of,
                                 .view_offset = request.view_offset});
  draft.users.emplace_back();
  if (request.view_of.valid()) draft.users[request.view_of.index()].is_viewed = true;
  return id;
}

BufferId persistent_buffer(Draft& draft, const BufferRequest& request) {
  auto found = draft.persistent.find(request.name);
  if (found != draft.persistent.end()) return found->second;
  BufferRequest persistent = request;
  persistent.persistent = true;
  return draft.persistent[request.name] = add_buffer(draft, persistent);
}

namespace {

BufferId device_buffer(Draft& draft, const std::string& name, const TensorSpec& spec,
                       DeviceId device) {
  std::string own = draft.has_peers() ? fmt::format("{}@{}", name, device.value) : name;
  return persistent_buffer(draft, {own, spec, device, Category::workspace});
}

}  // namespace

BufferId scalars_buffer(Draft& draft, DeviceId device) {
  return device_buffer(draft, kScalarsName, {{kScalarCount}, DType::f64}, device);
}

BufferId control_buffer(Draft& draft, DeviceId device) {
  return device_buffer(draft, kControlName, {{kControlCount}, DType::f64}, device);
}

BufferId zeros_buffer(Draft& draft, const TensorSpec& spec, DeviceId device) {
  return device_buffer(draft, "zeros " + to_string(spec), spec, device);
}

TaskId new_task_id(Draft& draft, const std::string& fragment) {
  auto [found, is_new] = draft.task_ids.try_emplace(fragment, draft.tasks.fragments.size(), 0);
  if (is_new) draft.tasks.fragments.push_back(fragment);
  return {found->second.first, found->second.second++};
}

Task& add_task(Draft& draft, const std::string& fragment, Task task) {
  task.id = new_task_id(draft, fragment);
  for (const BufferUse& use : task.uses) {
    BufferUsers& users = draft.users[use.buffer.index()];
    if (use.access == Access::read) users.is_read = true;
    if (use.access == Access::write && task.computes())
      users.writers.push_back(draft.tasks.tasks.size());
  }
  draft.tasks.tasks.push_back(std::move(task));
  return draft.tasks.tasks.back();
}

BufferId sum_of(Draft& draft, const std::string& fragment, const std::string& name,
                const std::vector<BufferId>& parts) {
  if (parts.size() == 1) return parts[0];
  if (!draft.request.strategy->sync.fixed_order) return sum_in_order(draft, fragment, name, parts);
  std::vector<BufferId> level = parts;
  while (level.size() > 1) {
    std::vector<BufferId> next;
    for (std::size_t at = 0; at + 1 < level.size(); at += 2)
      next.push_back(sum_in_order(draft, fragment, name, {level[at], level[at + 1]}));
    if (level.size() % 2 == 1) next.push_back(level.back());
    level = std::move(next);
  }
  return level[0];
}

std::string part_name(const Draft& draft, const std::string& name, std::int64_t part) {
  return draft.micro_batches() == 1 ? name : fmt::format("{}#{}", name, part);
}

std::string slice_name(const Draft& draft, const std::string& name, const Shape& whole,
                       const Placed& place) {
  bool is_part = place.region != Region::whole(whole);
  std::string part = is_part || draft.has_peers() ? name + to_string(place.region) : name;
  return draft.has_peers() ? fmt::format("{}@{}", part, place.device.value) : part;
}

}  // namespace troika
