#include "graph/inference.h"

namespace troika {
namespace {

Op for_inference(Op op) {
  if (auto* norm = std::get_if<BatchNorm>(&op)) norm->training = false;
  return op;
}

/// Copies operators one by one and renumbers the tensors, because some are removed.
class Rewriter {
 public:
  explicit Rewriter(const Graph& graph) : old_(graph), new_id_(graph.tensors.size()) {
    made_.name = graph.name;
    made_.parameters = graph.parameters;
    for (TensorId input : graph.inputs) made_.inputs.push_back(copy(input, {}));
  }

  Graph rewrite() {
    // In topological order, so that new_id_ of every input is set before it is read.
    for (const Operator& op : old_.operators) {
      // Training divides by the keep rate, so that inference can leave dropout out.
      if (std::holds_alternative<Dropout>(op.op))
        new_id_[op.outputs[0].index()] = at(op.inputs[0]);
      else
        copy(op);
    }
    for (const NamedTensor& output : old_.outputs)
      made_.outputs.push_back({output.name, at(output.tensor)});
    if (old_.loss) made_.loss = Loss{at(old_.loss->loss_sum), at(old_.loss->weight_sum)};
    verify(made_);
    return made_;
  }

 private:
  TensorId at(TensorId old) const { return new_id_[old.index()]; }

  TensorId copy(TensorId old, OperatorId producer) {
    new_id_[old.index()] = TensorId(made_.tensors.size());
    made_.tensors.push_back({old_[old].name, old_[old].spec, producer});
    return at(old);
  }

  void copy(const Operator& op) {
    Operator made{.name = op.name, .op = for_inference(op.op), .parameters = op.parameters};
    for (TensorId input : op.inputs) made.inputs.push_back(at(input));
    OperatorId id(made_.operators.size());
    for (TensorId output : op.outputs) made.outputs.push_back(copy(output, id));
    made_.operators.push_back(made);
  }

  const Graph& old_;
  Graph made_;
  std::vector<TensorId> new_id_;  ///< By old tensor.
};

}  // namespace

Graph inference(const Graph& graph) { return Rewriter(graph).rewrite(); }

}  // namespace troika
