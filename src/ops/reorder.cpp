#include "ops/reorder.h"

#include <array>

#include "ops/require.h"

namespace troika {

std::span<const std::string_view> enum_names(Layout) {
  static const std::array<std::string_view, kLayoutCount> names = [] {
    std::array<std::string_view, kLayoutCount> all;
    for (std::size_t at = 0; at < kLayoutCount; ++at) all[at] = to_string(static_cast<Layout>(at));
    return all;
  }();
  return names;
}

Signature signature(const Reorder&, std::span<const TensorSpec> inputs) {
  require_inputs("reorder", inputs, 1);
  const Shape& x = inputs[0].shape;
  // Without axes: lowering inserts it behind the split, for tensors of one device.
  std::vector<DimMap> dims(x.rank());
  Signature s;
  s.slots = {{Role::input, "x", inputs[0], dims}, {Role::output, "y", inputs[0], dims}};
  s.phases = {{Phase::forward, {read(0), write(1)}, {}}};
  return s;
}

}  // namespace troika
