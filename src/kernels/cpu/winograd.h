// Winograd's convolution F(4x4, 3x3) and F(2x2, 3x3), our own, in f32 and blocked layouts. Weights
// keep the layout that direct kernels read: their transformed form lives in scratch.
#pragma once

#include <string>

#include "kernels/cpu/convolution.h"

namespace troika {

/// Why there is no Winograd kernel for it; empty when there is.
std::optional<std::string> why_not_winograd(const Convolution& convolution, const Request& request);

/// "winograd4" and "winograd2" on channels blocked by `lanes` (8 or 16).
Offers winograd_offers(const Convolution& convolution, const Request& request, int lanes);

}  // namespace troika
