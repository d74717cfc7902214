#include "graph/indexed_graph.h"

namespace troika {

IndexedGraph::IndexedGraph(const Graph& made_of) : graph(made_of) {
  signatures.reserve(graph.operators.size());
  for (const Operator& op : graph.operators) {
    operators.emplace(op.name, signatures.size());
    signatures.push_back(signature(graph, op));
  }
}

}  // namespace troika
