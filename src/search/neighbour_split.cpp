#include "search/neighbour_split.h"

#include "search/split_menus.h"

namespace troika {
namespace {

/// The dimension of the slot that an axis runs along; -1: none.
int dimension_of(const Slot& slot, int axis) {
  for (std::size_t dim = 0; dim < slot.dims.size(); ++dim)
    if (axis >= 0 && slot.dims[dim].axis == axis) return static_cast<int>(dim);
  return -1;
}

std::string axis_behind(const Signature& from, const Slot& from_slot, const Signature& to,
                        const Slot& to_slot, const std::string& axis) {
  int dim = dimension_of(from_slot, from.axis(axis));
  if (dim < 0 || dim >= std::ssize(to_slot.dims)) return "";
  int found = to_slot.dims[as_index(dim)].axis;
  return found == DimMap::kNoAxis ? "" : to.axes[as_index(found)].name;
}

}  // namespace

std::vector<std::vector<Neighbours>> find_neighbours(const IndexedGraph& index) {
  const Graph& graph = index.graph;
  std::vector<std::vector<Neighbours>> all(graph.operators.size());
  for (std::size_t reader = 0; reader < graph.operators.size(); ++reader) {
    const Signature& s = index.signatures[reader];
    for (int slot : s.slots_of(Role::input)) {
      TensorId tensor = tensor_at(graph.operators[reader], s, slot);
      if (!graph[tensor].producer.valid()) continue;
      std::size_t writer = graph[tensor].producer.index();
      const Signature& written = index.signatures[writer];
      for (int output : written.slots_of(Role::output)) {
        if (tensor_at(graph.operators[writer], written, output) != tensor) continue;
        all[reader].push_back({writer, reader, output, slot});
        all[writer].push_back({reader, writer, slot, output});
      }
    }
  }
  return all;
}

Split split_like_neighbour(const IndexedGraph& index, const Neighbours& neighbours,
                           const Split& split) {
  const Signature& from = index.signatures[neighbours.from];
  const Signature& to = index.signatures[neighbours.to];
  const Slot& from_slot = from.slots[as_index(neighbours.from_slot)];
  const Slot& to_slot = to.slots[as_index(neighbours.to_slot)];
  Split made{.first = split.first};
  for (const Factor& factor : split.factors) {
    Factor own = factor;
    own.weights.clear();
    own.axis = axis_behind(from, from_slot, to, to_slot, factor.axis);
    made.factors.push_back(std::move(own));
  }
  auto is_recurrent = [&](std::size_t op) {
    return std::holds_alternative<Recurrent>(index.graph.operators[op].op);
  };
  if (is_recurrent(neighbours.from) && is_recurrent(neighbours.to)) made.chunks = split.chunks;
  return normalised(std::move(made));
}

}  // namespace troika
