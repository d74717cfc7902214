// Convolutions by oneDNN: direct, as a product of matrices (its "gemm" is im2col) and Winograd's.
#pragma once

#include <string>
#include <vector>

#include "kernels/cpu/convolution.h"

namespace troika {

/// Why there is none; empty when there is.
std::optional<std::string> why_not_direct(const Convolution& convolution, const Request& request);
std::optional<std::string> why_not_library_winograd(const Convolution& convolution,
                                                    const Request& request);

/// Kernels of the direct family that oneDNN has for the key and that are left out because they are
/// known to be wrong there.
std::vector<DeclinedFamily> unsafe_direct_kernels(const Convolution& convolution,
                                                  const Request& request);

/// In every pair of layouts that oneDNN is fast in; plain loops only where it has nothing else.
Offers direct_offers(const Convolution& convolution, const Request& request);
Offers library_winograd_offers(const Convolution& convolution, const Request& request);

}  // namespace troika
