// The gradient of a convolution's image as a forward convolution with flipped weights, by oneDNN.
#pragma once

#include <string>

#include "kernels/cpu/convolution.h"

namespace troika {

/// Why there is none; empty when there is.
std::optional<std::string> why_not_flipped(const Convolution& convolution, const Request& request);

/// "flipped_direct" and the like, by the kernel that computes it. The flipped weights are scratch.
Offers flipped_offers(const Convolution& convolution, const Request& request);

}  // namespace troika
