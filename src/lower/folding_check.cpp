// Whether devices of a class emit the same tasks: checked for every device that is bound.
#include <fmt/format.h>

#include <algorithm>

#include "lower/folding.h"

namespace troika {
namespace {

PackedId without_device(PackedId id) {
  IdFields fields = unpack(id);
  fields.device = 0;
  return pack(fields);
}

}  // namespace

std::optional<std::string> Folding::why_not_alike(std::int32_t device,
                                                  std::span<const Fragment> fragments) {
  std::int32_t own = graph_.classes.of_device[as_index(device)];
  std::int32_t first = graph_.classes.first[as_index(own)];
  std::span<const Fragment> expected = fragments_of(own);
  auto differs = [&](std::size_t at, const char* what) {
    return fmt::format("devices {} and {} are of one class, but have other {} in fragment {}",
                       first, device, what, at);
  };
  for (std::size_t at = 0; at < expected.size(); ++at) {
    const Fragment &one = expected[at], &other = fragments[at];
    if (one.tasks.size() != other.tasks.size() || one.wanted != other.wanted)
      return differs(at, "numbers of tasks or copies");
    for (std::size_t task = 0; task < one.tasks.size(); ++task)
      if (!is_alike({one, one.tasks[task], first}, {other, other.tasks[task], device}))
        return differs(at, "tasks");
  }
  return std::nullopt;
}

/// Everything but ids of devices, numbers of messages and members, and positions.
bool Folding::is_alike(const StandingTask& one, const StandingTask& other) {
  const PlannedTask &task = one.task, &twin = other.task;
  if (task.turn != twin.turn || without_device(task.id) != without_device(twin.id) ||
      task.unit != twin.unit || task.kind != twin.kind || task.call != twin.call ||
      task.micro_batch != twin.micro_batch || task.lag != twin.lag ||
      task.movement != twin.movement || task.position_count != twin.position_count)
    return false;
  bool same_work = task.computes() ? task.of == twin.of && task.index == twin.index
                                   : calls_.name_of(task) == calls_.name_of(twin);
  if (task.kind == WorkKind::finish)
    same_work = same_work && calls_.time_of(task, bytes_of(task, one.fragment, one.device)) ==
                                 calls_.time_of(twin, bytes_of(twin, other.fragment, other.device));
  return same_work && std::ranges::equal(one.fragment.uses_of(task), other.fragment.uses_of(twin),
                                         [&](const PlannedUse& use, const PlannedUse& same) {
                                           return use.access == same.access &&
                                                  is_alike(use.buffer, same.buffer);
                                         });
}

/// Buckets are numbered over all devices; they are alike if they begin with the same gradient.
bool Folding::is_alike(const BufferRef& one, const BufferRef& other) const {
  if (one.role != BufferRole::bucket || other.role != BufferRole::bucket) return one == other;
  return plan_.buckets.at(one.of).parts[0].update == plan_.buckets.at(other.of).parts[0].update;
}

}  // namespace troika
