// Sums, copies and norms: tasks besides those of operators. Each combination of key and layouts is
// kept once for each kind of device.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "cost/kernel_table.h"
#include "machine/machine.h"

namespace troika {

struct Movement {
  std::int32_t device_kind = 0;  ///< As in number_kinds (machine/machine.h).
  KernelKey key;
  std::vector<Layout> layouts;  ///< One per operand.

  bool operator==(const Movement&) const = default;
};

/// Grows with what is asked.
class MovementTable {
 public:
  explicit MovementTable(const Machine& machine);

  std::int32_t find_or_add(std::int32_t device, KernelKey key, std::vector<Layout> layouts);
  const Movement& operator[](std::int32_t at) const { return all_[as_index(at)]; }
  std::size_t size() const { return all_.size(); }

 private:
  std::vector<std::int32_t> kind_of_device_;
  std::deque<Movement> all_;  // stay in place as others are added
  std::unordered_multimap<std::uint64_t, std::int32_t> by_hash_;
};

/// The quickest kernel that takes the operands as they lie, with a time by the device's roofline
/// where none was measured. Null: the table has no row. Throws Error(usage) for a row without a
/// kernel that fits.
std::optional<KernelChoice> choose_kernel(const Movement& movement, const DeviceSpec& device,
                                          const KernelTable& table);

}  // namespace troika
