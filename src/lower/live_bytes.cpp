#include "lower/live_bytes.h"

#include <algorithm>

#include "lower/state_entries.h"

namespace troika {

LiveBytes::LiveBytes(Folding& folding, const KernelTable& table)
    : folding_(folding),
      movements_(folding, table),
      messages_(folding.plan()),
      unused_(unused_parameters(folding.plan())) {}

std::map<std::int32_t, PlannedState> LiveBytes::unused_parameters(const ProgramPlan& plan) {
  std::map<std::int32_t, PlannedState> unused;
  const std::vector<Parameter>& parameters = plan.request.graph->parameters;
  for (std::size_t at = 0; at < parameters.size(); ++at) {
    if (plan.distribution.outline.parameters[at] >= 0) continue;
    StoredPlaces places = places_of_unused(plan.request, parameters[at]);
    for (const StoredPlace& place : places) {
      DType dtype = parameters[at].spec.dtype;
      Bytes bytes = stored_bytes(place.layout, place.region.shape(), dtype);
      if (plan.request.strategy->sync.sliced_update)
        bytes += size_of(dtype) *
                 slice_padding(place.region.elements(),
                               std::ranges::count(places, place.region, &StoredPlace::region));
      Bytes plain{};
      if (place.layout != Layout::plain) plain = size_of(dtype) * place.region.elements();
      unused[place.device.value].add(bytes, plain, Category::parameter);
    }
  }
  return unused;
}

const std::vector<PlannedMemory>& LiveBytes::by_class() {
  bool same_classes = follow_classes();
  answers_.clear();
  for (std::int32_t at = 0; at < classes_.count(); ++at) {
    std::int32_t device = classes_.first[as_index(at)];
    std::unique_ptr<Known>& known = known_[device];
    if (!known)
      known =
          std::make_unique<Known>(DeviceMemory::Tables{folding_, movements_, messages_}, device);
    std::uint64_t version = folding_.versions_of(at).all;
    if (!same_classes || known->version != version) {
      known->version = version;
      known->answer = known->memory.count(at, same_classes);
      ++counted_;
    }
    answers_.push_back(known->answer);
  }
  add_unused();
  return answers_;
}

/// Returns whether they are as they were. Devices that stand for no class any more are forgotten.
bool LiveBytes::follow_classes() {
  const Classes& classes = folding_.graph().classes;
  if (classes == classes_) return true;
  classes_ = classes;
  messages_.set_classes(classes_);
  std::erase_if(known_, [&](const auto& each) {
    return !std::ranges::binary_search(classes_.first, each.first);
  });
  return false;
}

/// Of the device of a class that has most.
void LiveBytes::add_unused() {
  std::map<std::int32_t, PlannedState> most;
  for (const auto& [device, state] : unused_) {
    PlannedState& known = most[classes_.of_device[as_index(device)]];
    if (state.bytes > known.bytes) known = state;
  }
  for (const auto& [at, state] : most) {
    PlannedMemory& answer = answers_[as_index(at)];
    answer.state.add(state.bytes, state.staging, Category::parameter);
    answer.categories[as_index(static_cast<int>(Category::parameter))] += state.bytes;
  }
}

std::vector<PlannedMemory> memory_by_class(Folding& folding, const KernelTable& table) {
  LiveBytes live(folding, table);
  return live.by_class();
}

}  // namespace troika
