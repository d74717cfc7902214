// Winograd's convolution F(4x4, 3x3) and F(2x2, 3x3), our own, in f32 and blocked layouts. Weights
// keep the layout that direct kernels read: their transformed form lives in scratch.
#pragma once

#include <string>

#include "kernels/cpu/convolution.h"

namespace troika {

/// Bounds of the error relative to the largest element, about twice of what normal values show with
/// 512 channels (4e-6 and 1e-6); with 16 it is a quarter. The transforms of F(4x4, 3x3) multiply
/// and cancel again, those of F(2x2, 3x3) only add and halve.
inline constexpr double kWinograd4Error = 1e-5, kWinograd2Error = 2e-6;

/// Why there is no Winograd kernel for it; empty when there is.
std::optional<std::string> why_not_winograd(const Convolution& convolution, const Request& request);

/// "winograd4" and "winograd2" on channels blocked by 16 where the processor has such vectors, else
/// by 8.
Offers winograd_offers(const Convolution& convolution, const Request& request);
/// On channels blocked by `lanes`, 8 or 16, at most widest_vector().
Offers winograd_offers_in(const Convolution& convolution, const Request& request, int lanes);

}  // namespace troika
