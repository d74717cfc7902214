// A tile of an operator and the parts of tensors that it reads and writes.
#pragma once

#include <algorithm>

#include "kernels/op_trial.h"

namespace troika {

/// The operator of a tile, with its inputs and its position.
inline OpCase local_case(const OpTrial& whole, const Region& tile) {
  OpCase local{whole.name, localize(whole.op, whole.signature, tile), {}, {}};
  // The whole may itself be a tile, so its tiles lie relative to its position.
  local.position = position_of(whole.op, whole.signature, tile);
  std::vector<std::int64_t> origin =
      position_of(whole.op, whole.signature, whole.signature.whole_tile());
  for (std::size_t at = 0; at < origin.size(); ++at)
    local.position[at] += whole.position[at] - origin[at];
  for (int slot : whole.signature.slots_of(Role::input)) {
    const Slot& input = whole.signature.slots[static_cast<std::size_t>(slot)];
    local.inputs.push_back({region_of(input, tile).shape(), input.spec.dtype});
  }
  // Update rules describe their parameter as the input.
  if (local.inputs.empty())
    local.inputs.push_back(
        {region_of(whole.signature.slots[0], tile).shape(), whole.inputs[0].dtype});
  return local;
}

/// The elements of `region` in row-major order as a tensor of their own.
inline HostTensor cut(const HostTensor& tensor, const Region& region) {
  HostTensor part({region.shape(), tensor.spec.dtype});
  std::int64_t at = 0;
  for_each_run(tensor.spec.shape, region, [&](std::int64_t offset, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i) part.set(at++, tensor.get(offset + i));
  });
  return part;
}

/// Combines the elements of `region` with those of `part`.
inline void put(HostTensor& into, const Region& region, const HostTensor& part, Combine combine) {
  std::int64_t at = 0;
  for_each_run(into.spec.shape, region, [&](std::int64_t offset, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i, ++at) {
      double there = into.get(offset + i), here = part.get(at);
      into.set(offset + i, combine == Combine::sum ? there + here : std::max(there, here));
    }
  });
}

}  // namespace troika
