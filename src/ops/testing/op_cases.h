// Small instances of every operator, with odd shapes: the rows of the parity, gradient and tile
// tests, which fail if an operator has no case.
#pragma once

#include <vector>

#include "ops/op_case.h"

namespace troika {

/// All cases, in the order of the list of operators. Floating-point inputs are f64; tests that need
/// another type convert them with in_dtype().
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
