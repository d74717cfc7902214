#include "lower/fixed_choices.h"

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

constexpr DeviceId kOnly{std::size_t{0}};

/// What other programs store of the first device's replicas, under the names that it has alone.
std::vector<StoredSlice> stored_alone(const std::vector<StoredSlice>& storage) {
  std::vector<StoredSlice> alone;
  for (StoredSlice slice : storage) {
    if (std::ranges::count(alone, slice.of, &StoredSlice::of) > 0) continue;
    slice.name = slice.of;
    slice.device = kOnly;
    alone.push_back(slice);
  }
  return alone;
}

bool depends_on_layout(const Task& task) {
  const Op& op = task.key.op;
  return task.computes() && !std::holds_alternative<Sum>(op) &&
         !std::holds_alternative<Assemble>(op) && !std::holds_alternative<Reorder>(op);
}

}  // namespace

std::variant<GivenChoices, MissingRows> choices_on_one_device(const LowerRequest& request,
                                                              const KernelTable& table) {
  Strategy strategy = *request.strategy;
  for (auto& [name, split] : strategy.splits) {
    split.first = 0;
    split.devices.clear();
    for (Factor& factor : split.factors) factor.stride = 0;
  }
  Machine machine{{request.machine->devices.front()}};
  LowerRequest alone = request;
  alone.strategy = &strategy;
  alone.machine = &machine;
  alone.storage = stored_alone(request.storage);
  LowerResult result = lower(alone, table);
  if (auto* missing = std::get_if<MissingRows>(&result)) return *missing;
  auto* tasks = std::get_if<TaskGraph>(&result);
  TROIKA_CHECK(tasks != nullptr, "several devices can run what one cannot");
  GivenChoices choices;
  for (const Task& task : tasks->tasks)
    if (depends_on_layout(task)) choices.emplace(task.name, task.choice);
  return choices;
}

}  // namespace troika
