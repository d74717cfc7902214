#include "cli/random_inputs.h"

#include <algorithm>

#include "base/hash.h"
#include "base/random.h"

namespace troika::cli {
namespace {

/// The bound of the first operator that reads the tensor and has one, or 1.
std::int64_t bound_of(const Graph& graph, TensorId tensor) {
  for (const Operator& op : graph.operators) {
    Signature s = signature(graph, op);
    std::vector<int> slots = s.slots_of(Role::input);
    for (std::size_t at = 0; at < op.inputs.size(); ++at) {
      std::int64_t bound = s.slots[static_cast<std::size_t>(slots[at])].bound;
      if (op.inputs[at] == tensor && bound > 0) return bound;
    }
  }
  return 1;
}

template <class T, class Value>
void fill(std::vector<std::byte>& bytes, Value&& value) {
  std::span<T> values{reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  for (std::size_t at = 0; at < values.size(); ++at) values[at] = static_cast<T>(value(at));
}

}  // namespace

std::vector<std::byte> random_input(const Graph& graph, TensorId input) {
  const Tensor& tensor = graph[input];
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.spec.bytes().count));
  RandomStream random{.key = 1, .stream = hash_text(tensor.name)};
  if (tensor.spec.dtype == DType::i32) {
    auto bound = static_cast<std::uint64_t>(bound_of(graph, input));
    fill<std::int32_t>(bytes, [&](std::size_t at) { return random.below(at, bound); });
    return bytes;
  }
  dispatch(tensor.spec.dtype, [&]<class T>() {
    fill<T>(bytes,
            [&](std::size_t at) { return tensor.name == "weight" ? 1.0 : random.normal(at); });
  });
  return bytes;
}

}  // namespace troika::cli
