// Convolutions with large windows by Fourier transforms, our own, in f32 and blocked layouts
// (M. Mathieu, M. Henaff and Y. LeCun, Fast Training of Convolutional Networks through FFTs, arXiv
// 1312.5851; in tiles: A. Zlateski, Z. Jia, K. Li and F. Durand, doi 10.1145/3330345.3330382).
// Weights keep the layout that direct kernels read: their spectra live in scratch.
#pragma once

#include <string>

#include "kernels/cpu/convolution.h"

namespace troika {

/// Bound of the error relative to the largest element. The transforms are unitary but for a factor,
/// so that it grows with nothing but the number of channels.
inline constexpr double kFftError = 1e-6;

/// Why there is no such kernel; empty when there is.
std::optional<std::string> why_not_fft(const Convolution& convolution, const Request& request);

/// "fft16", "fft32" and "fft64", by the side of their tiles: those that need least arithmetic, on
/// channels blocked by 16 where the processor has such vectors, else by 8.
Offers fft_offers(const Convolution& convolution, const Request& request);
/// Tiles of each side that holds the window, on channels blocked by `lanes`.
Offers fft_offers_in(const Convolution& convolution, const Request& request, int lanes);

}  // namespace troika
