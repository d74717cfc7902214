#include "lower/close_loss.h"

#include <fmt/format.h>

#include "lower/assemble_task.h"
#include "lower/communicate.h"

namespace troika {
namespace {

const TensorSpec kNumber{{1}, DType::f64};
constexpr Bytes kNumberBytes{8};

/// The device's share of all sums, one behind the other.
BufferId pack(Draft& draft, const std::string& fragment, DeviceId device,
              const std::vector<Sums>& sums) {
  auto count = static_cast<std::int64_t>(sums.size());
  std::vector<AssembledPart> parts;
  auto add = [&](std::int64_t at, BufferId number) {
    parts.push_back({number, {{{0, 1}}}, {{{at, at + 1}}}});
  };
  for (std::int64_t at = 0; at < count; ++at) {
    const Sums& sum = sums[static_cast<std::size_t>(at)];
    if (auto own = sum.find(device); own != sum.end()) add(at, own->second);
  }
  if (parts.empty()) add(0, zeros_buffer(draft, kNumber, device));
  return add_assemble(draft,
                      {.fragment = fragment,
                       .name = fmt::format("{} totals@{}", fragment, device.value),
                       .spec = {{count}, DType::f64},
                       .device = device,
                       .category = Category::workspace},
                      parts);
}

Sums requests(Draft& draft) {
  Sums all;
  for (std::size_t at = 0; at < draft.request.machine->devices.size(); ++at) {
    DeviceId device(at);
    std::string name = fmt::format("step.requests@{}", at);
    all[device] = persistent_buffer(draft, {name, kNumber, device, Category::workspace});
  }
  return all;
}

}  // namespace

Sums local_sums(Draft& draft, const std::string& fragment, const std::string& name,
                const std::vector<Value*>& values) {
  std::map<DeviceId, std::vector<BufferId>> parts;
  for (const Value* value : values) {
    std::vector<std::vector<ValuePiece>> terms = value->terms;
    if (!value->finished.empty()) terms = {value->finished};
    for (const std::vector<ValuePiece>& term : terms)
      parts[term[0].place.device].push_back(term[0].buffer);
  }
  Sums sums;
  for (const auto& [device, buffers] : parts) sums[device] = sum_of(draft, fragment, name, buffers);
  return sums;
}

std::map<DeviceId, std::vector<BufferId>> add_up_everywhere(Draft& draft,
                                                            const std::string& fragment,
                                                            const std::vector<Sums>& sums) {
  std::map<DeviceId, std::vector<BufferId>> everywhere;
  if (!draft.has_peers()) {
    for (const Sums& sum : sums)
      everywhere[DeviceId(std::size_t{0})].push_back(sum.begin()->second);
    return everywhere;
  }
  CommunicationRequest request{.fragment = fragment, .name = fragment};
  if (draft.request.strategy->sync.fixed_order) request.order = CombineOrder::tree;
  for (std::size_t at = 0; at < draft.request.machine->devices.size(); ++at)
    request.buffers.push_back(pack(draft, fragment, DeviceId(at), sums));
  add_communication(draft, request);
  for (BufferId packed : request.buffers) {
    const BufferSpec totals = draft.tasks[packed];
    for (std::size_t at = 0; at < sums.size(); ++at)
      everywhere[totals.device].push_back(add_buffer(
          draft, {fmt::format("{}[{}]", totals.name, at), kNumber, totals.device,
                  Category::workspace, packed, kNumberBytes * static_cast<std::int64_t>(at)}));
  }
  return everywhere;
}

Sums sum_everywhere(Draft& draft, const std::string& fragment, const std::string& name,
                    const std::vector<Value*>& values) {
  Sums sums;
  for (const auto& [device, total] :
       add_up_everywhere(draft, fragment, {local_sums(draft, fragment, name, values)}))
    sums[device] = total[0];
  return sums;
}

void close_loss(Draft& draft) {
  const Loss& loss = *draft.graph.loss;
  std::vector<Value*> losses, weights;
  for (std::vector<Value>& values : draft.values) {
    losses.push_back(&values[loss.loss_sum.index()]);
    weights.push_back(&values[loss.weight_sum.index()]);
  }
  std::vector<Sums> sums{local_sums(draft, "loss", "loss_sum", losses),
                         local_sums(draft, "loss", "weight_sum", weights)};
  if (draft.has_peers()) sums.push_back(requests(draft));
  for (const auto& [device, totals] : add_up_everywhere(draft, "loss", sums)) {
    draft.loss_sums[device] = totals[0];
    draft.weight_sums[device] = totals[1];
    if (totals.size() < 3) continue;
    draft.tasks[totals[2]].held = true;
    draft.tasks.outputs[fmt::format("step.requests@{}", device.value)] = totals[2];
  }
  if (!draft.request.optimizer->watches_gradient()) add_guards(draft, {});
}

void add_guards(Draft& draft, const Sums& square_sums) {
  Guard op{.gradient = !square_sums.empty(), .clip_norm = draft.request.optimizer->clip_norm};
  for (const auto& [device, loss_sum] : draft.loss_sums) {
    Task task{
        .name = "guard", .device = device, .key = {op, {}, Phase::update, {}}, .is_update = true};
    task.uses = {{loss_sum, Access::read}, {draft.weight_sums.at(device), Access::read}};
    if (op.gradient) task.uses.push_back({square_sums.at(device), Access::read});
    task.key.inputs.assign(task.uses.size(), kNumber);
    task.uses.push_back({control_buffer(draft, device), Access::update});
    add_task(draft, "guard", std::move(task));
  }
}

}  // namespace troika
