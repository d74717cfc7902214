// Small instances of every operator, with odd shapes: the rows of the parity, gradient and tile
// tests, which fail if an operator has no case. The kernel check of the product
// (kernels/key_trial.h) takes the kind of its input values from them.
#pragma once

#include <string>
#include <vector>

#include "ops/op.h"

namespace troika {

/// The values of a test input. Integers are drawn below the bound of the slot; lengths are at least
/// 1.
enum class Fill { normal, positive, mask, lengths };

struct OpCase {
  std::string name;
  Op op;
  std::vector<TensorSpec> inputs;  ///< Floating inputs in f64; tests that want f32 convert.
  std::vector<Fill> fills{};       ///< One per input; missing ones are normal.
};

/// All of them, in the order of the list of operators.
std::vector<OpCase> op_cases();

/// One list per family of operators, in the file named after it.
std::vector<OpCase> elementwise_cases();
std::vector<OpCase> dense_cases();
std::vector<OpCase> shape_cases();
std::vector<OpCase> sequence_cases();
std::vector<OpCase> loss_cases();
std::vector<OpCase> update_cases();

inline TensorSpec f64(Shape shape) { return {shape, DType::f64}; }
inline TensorSpec i32(Shape shape) { return {shape, DType::i32}; }

/// The same case in another floating type.
OpCase in_dtype(OpCase operator_case, DType dtype);

}  // namespace troika
