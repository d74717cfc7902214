#include "ops/testing/op_cases.h"

namespace troika {

std::vector<OpCase> op_cases() {
  std::vector<OpCase> all;
  for (auto family :
       {elementwise_cases, dense_cases, shape_cases, sequence_cases, loss_cases, update_cases}) {
    std::vector<OpCase> cases = family();
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

OpCase in_dtype(OpCase operator_case, DType dtype) {
  // Sums of losses and squares are f64 for every type of the model.
  bool keeps_sums = std::holds_alternative<Guard>(operator_case.op);
  for (TensorSpec& input : operator_case.inputs) {
    if (input.dtype == DType::f64 && !keeps_sums) input.dtype = dtype;
  }
  if (auto* embedding = std::get_if<Embedding>(&operator_case.op)) embedding->dtype = dtype;
  return operator_case;
}

}  // namespace troika
