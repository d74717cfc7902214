// The algorithms for convolutions. Each has a function that returns why it does not support a
// convolution, or nothing if it does, and a function that returns its offers.
#pragma once

#include "kernels/cpu/convolution.h"

namespace troika {

// oneDNN's direct kernels and its "gemm" (im2col followed by a matrix product), in every pair of
// layouts for which it has a fast kernel; its plain loops only where it has nothing else.
std::optional<std::string> why_not_direct(const Convolution& convolution, const Request& request);
Offers direct_offers(const Convolution& convolution, const Request& request);
/// Returns the direct kernels that oneDNN has for the key but that are known to be wrong for it.
std::vector<DeclinedAlgorithm> unsafe_direct_kernels(const Convolution& convolution,
                                                     const Request& request);

// The gradient of the image as a forward convolution of oneDNN with flipped weights, which live in
// scratch. Named after the forward kernel: "flipped_direct" and so on.
std::optional<std::string> why_not_flipped(const Convolution& convolution, const Request& request);
Offers flipped_offers(const Convolution& convolution, const Request& request);

// oneDNN's Winograd kernels.
std::optional<std::string> why_not_library_winograd(const Convolution& convolution,
                                                    const Request& request);
Offers library_winograd_offers(const Convolution& convolution, const Request& request);

// Our Winograd kernels F(4x4, 3x3) and F(2x2, 3x3), "winograd4" and "winograd2", in f32 and blocked
// layouts (winograd_points.h cites the paper). Weights keep the layout that direct kernels read;
// their transformed form lives in scratch.
std::optional<std::string> why_not_winograd(const Convolution& convolution, const Request& request);
/// Channels are blocked by 16 if the processor has such vectors, else by 8.
Offers winograd_offers(const Convolution& convolution, const Request& request);
/// Channels are blocked by `lanes`, 8 or 16, at most widest_vector().
Offers winograd_offers_in(const Convolution& convolution, const Request& request, int lanes);
/// Bounds of the error relative to the largest element: about twice what normally distributed
/// values show with 512 channels (4e-6 and 1e-6); with 16 channels the error is a quarter of that.
/// The transforms of F(4x4, 3x3) multiply and cancel again, those of F(2x2, 3x3) only add and
/// halve.
inline constexpr double kWinograd4Error = 1e-5, kWinograd2Error = 2e-6;

// Convolutions with large windows by Fourier transforms of tiles, in f32 and blocked layouts
// (M. Mathieu, M. Henaff and Y. LeCun, Fast Training of Convolutional Networks through FFTs, arXiv
// 1312.5851; in tiles: A. Zlateski, Z. Jia, K. Li and F. Durand, doi 10.1145/3330345.3330382).
// Named after the side of their tiles: "fft16", "fft32" and "fft64". Spectra live in scratch.
std::optional<std::string> why_not_fft(const Convolution& convolution, const Request& request);
/// Only the sides of tiles that need the least arithmetic, with channels blocked by 16 if the
/// processor has such vectors, else by 8.
Offers fft_offers(const Convolution& convolution, const Request& request);
/// Every side of tiles that holds the window, with channels blocked by `lanes`.
Offers fft_offers_in(const Convolution& convolution, const Request& request, int lanes);
/// Bound of the error relative to the largest element. The transforms are unitary except for a
/// factor, so the error grows only with the number of channels.
inline constexpr double kFftError = 1e-6;

}  // namespace troika
