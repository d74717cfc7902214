// For tests: generates inputs of a graph from their names and a seed.
#pragma once

#include <algorithm>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "graph/graph.h"

namespace troika {

/// Returns normal numbers, or integers within the range that every reader allows. Weights and masks
/// are 1.
inline std::vector<std::byte> seeded_values(const Graph& graph, TensorId input,
                                            std::uint64_t seed) {
  const Tensor& tensor = graph[input];
  std::int64_t bound = 0;
  for (const Operator& op : graph.operators) {
    Signature s = signature(graph, op);
    for (std::size_t at = 0; at < op.inputs.size(); ++at) {
      std::int64_t limit = s.slots[static_cast<std::size_t>(s.slots_of(Role::input)[at])].bound;
      if (op.inputs[at] == input && limit > 0) bound = bound == 0 ? limit : std::min(bound, limit);
    }
  }
  RandomStream random{.key = seed, .stream = hash_text(tensor.name)};
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.spec.bytes().count));
  auto fill = [&]<class T>(T) {
    std::span<T> values{reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (tensor.spec.dtype == DType::i32)
        values[i] = static_cast<T>(random.below(i, static_cast<std::uint64_t>(bound)));
      else
        values[i] =
            static_cast<T>(tensor.name == "weight" || tensor.name == "mask" ? 1 : random.normal(i));
    }
  };
  if (tensor.spec.dtype == DType::i32)
    fill(std::int32_t{});
  else
    dispatch(tensor.spec.dtype, [&]<class T>() { fill(T{}); });
  return bytes;
}

}  // namespace troika
