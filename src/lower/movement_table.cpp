#include "lower/movement_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"

namespace troika {

MovementTable::MovementTable(const Machine& machine) : kind_of_device_(number_kinds(machine)) {}

std::int32_t MovementTable::find_or_add(std::int32_t device, KernelKey key,
                                        std::vector<Layout> layouts) {
  Movement wanted{kind_of_device_[as_index(device)], std::move(key), std::move(layouts)};
  std::uint64_t code = mix(hash(wanted.key), static_cast<std::uint64_t>(wanted.device_kind));
  for (Layout layout : wanted.layouts) code = mix(code, static_cast<std::uint64_t>(layout));
  auto [first, last] = by_hash_.equal_range(code);
  for (; first != last; ++first)
    if (all_[as_index(first->second)] == wanted) return first->second;
  auto number = static_cast<std::int32_t>(all_.size());
  all_.push_back(std::move(wanted));
  by_hash_.emplace(code, number);
  return number;
}

std::optional<KernelChoice> choose_kernel(const Movement& movement, const DeviceSpec& device,
                                          const KernelTable& table) {
  const std::vector<Candidate>* row = table.find(device.kind, movement.key);
  if (row == nullptr) return std::nullopt;
  // The rule is applied only where it is needed: most times were measured.
  auto time_of = [&](const Candidate& candidate) {
    return candidate.time ? *candidate.time
                          : roofline_time(device, flops_of(movement.key), bytes_of(movement.key));
  };
  const Candidate* best = nullptr;
  for (const Candidate& candidate : *row)
    if ((candidate.flat || candidate.layouts == movement.layouts) &&
        (best == nullptr || time_of(candidate) < time_of(*best)))
      best = &candidate;
  if (best == nullptr)
    throw Error(ErrorKind::usage,
                fmt::format("no kernel takes the operands as they lie: {}", to_text(movement.key)));
  return KernelChoice{best->algorithm, movement.layouts, best->scratch, time_of(*best)};
}

}  // namespace troika
