// Plain, slow loops in f32 and f64 over plain layouts. The kernels of every other backend are
// compared with them. The sources may be compiled together (TROIKA_UNITY), so those with a
// `Slots` enum keep it in a namespace named after the file.
#pragma once

#include <memory>

#include "kernels/arguments.h"
#include "kernels/kernel.h"
#include "ops/op.h"

namespace troika {

std::unique_ptr<Backend> make_reference_backend();

/// Runs one phase of an operator on host memory; one overload per operator, in the file named after
/// it.
void run_reference(const Linear& op, const Arguments& a);
void run_reference(const Bias& op, const Arguments& a);
void run_reference(const Position& op, const Arguments& a);
void run_reference(const Activation& op, const Arguments& a);
void run_reference(const Binary& op, const Arguments& a);
void run_reference(const CrossEntropy& op, const Arguments& a);
void run_reference(const Conv2d& op, const Arguments& a);
void run_reference(const Reshape& op, const Arguments& a);
void run_reference(const Transpose& op, const Arguments& a);
void run_reference(const Concat& op, const Arguments& a);
void run_reference(const SliceTensor& op, const Arguments& a);
void run_reference(const SplitTensor& op, const Arguments& a);
void run_reference(const Mean& op, const Arguments& a);
void run_reference(const Softmax& op, const Arguments& a);
void run_reference(const Embedding& op, const Arguments& a);
void run_reference(const Dropout& op, const Arguments& a);
void run_reference(const GateProjection& op, const Arguments& a);
void run_reference(const Pool2d& op, const Arguments& a);
void run_reference(const GlobalPool& op, const Arguments& a);
void run_reference(const Attention& op, const Arguments& a);
void run_reference(const BatchNorm& op, const Arguments& a);
void run_reference(const RunningAverage& op, const Arguments& a);
void run_reference(const LayerNorm& op, const Arguments& a);
void run_reference(const Matmul& op, const Arguments& a);
void run_reference(const ConvTranspose2d& op, const Arguments& a);
void run_reference(const LocalResponseNorm& op, const Arguments& a);
void run_reference(const Recurrent& op, const Arguments& a);
void run_reference(const SigmoidCrossEntropy& op, const Arguments& a);
void run_reference(const MeanError& op, const Arguments& a);
void run_reference(const Accuracy& op, const Arguments& a);
void run_reference(const Sgd& op, const Arguments& a);
void run_reference(const Adam& op, const Arguments& a);
void run_reference(const Lars& op, const Arguments& a);
void run_reference(const Lamb& op, const Arguments& a);
void run_reference(const Guard& op, const Arguments& a);
void run_reference(const SquareSum& op, const Arguments& a);
void run_reference(const Sum& op, const Arguments& a);
void run_reference(const Reorder& op, const Arguments& a);
void run_reference(const Assemble& op, const Arguments& a);

}  // namespace troika
