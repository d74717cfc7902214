// What the CPU backend offers for each operator, in the file named after it. Best first by rule; an
// empty list declines. An operator without an overload here is served by the reference loops.
#pragma once

#include "kernels/cpu/offer.h"
#include "ops/op.h"

namespace troika {

Offers offers(const Accuracy& op, const Request& request);
Offers offers(const Activation& op, const Request& request);
Offers offers(const Adam& op, const Request& request);
Offers offers(const Attention& op, const Request& request);
Offers offers(const BatchNorm& op, const Request& request);
Offers offers(const Bias& op, const Request& request);
Offers offers(const Binary& op, const Request& request);
Offers offers(const Concat& op, const Request& request);
Offers offers(const Conv2d& op, const Request& request);
Offers offers(const ConvTranspose2d& op, const Request& request);
Offers offers(const CrossEntropy& op, const Request& request);
Offers offers(const Dropout& op, const Request& request);
Offers offers(const Embedding& op, const Request& request);
Offers offers(const GlobalPool& op, const Request& request);
Offers offers(const Guard& op, const Request& request);
Offers offers(const Lamb& op, const Request& request);
Offers offers(const Lars& op, const Request& request);
Offers offers(const LayerNorm& op, const Request& request);
Offers offers(const Linear& op, const Request& request);
Offers offers(const LocalResponseNorm& op, const Request& request);
Offers offers(const Matmul& op, const Request& request);
Offers offers(const Mean& op, const Request& request);
Offers offers(const MeanError& op, const Request& request);
Offers offers(const Pool2d& op, const Request& request);
Offers offers(const Position& op, const Request& request);
Offers offers(const Recurrent& op, const Request& request);
Offers offers(const Reorder& op, const Request& request);
Offers offers(const RunningAverage& op, const Request& request);
Offers offers(const Sgd& op, const Request& request);
Offers offers(const SigmoidCrossEntropy& op, const Request& request);
Offers offers(const SliceTensor& op, const Request& request);
Offers offers(const Softmax& op, const Request& request);
Offers offers(const SplitTensor& op, const Request& request);
Offers offers(const SquareSum& op, const Request& request);
Offers offers(const Sum& op, const Request& request);
Offers offers(const Assemble& op, const Request& request);
Offers offers(const Transpose& op, const Request& request);

/// For phases that only give the same elements another shape, where they must become a buffer of
/// their own.
Offers copy_offers(const Request& request);

}  // namespace troika
