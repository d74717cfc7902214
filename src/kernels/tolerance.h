// The largest error that a kernel may have. The parity tests and the check that every kernel passes
// before it is used share this rule.
#pragma once

#include <string_view>

#include "taskgraph/kernel_key.h"

namespace troika {

/// The largest distance() of a result in f32 from the reference in f64 on the same inputs, relative
/// to the largest element.
///
/// One rounding is 6e-8, and those of a sum of k terms add up like a random walk, to sqrt(k) of
/// them. 2e-5 is over 300 roundings: enough for 4096 terms and a factor of 5 for unlucky ones;
/// longer sums get more by their square root. Wrong kernels are off by 1e-2 and more.
/// Roundings are relative to the largest sum, which is about sqrt(k). After tanh and sigmoid the
/// largest result is 1 whatever the sums are, so the bound grows with them there, up to 1e-3.
/// Batch norm divides by a deviation that is itself a difference of sums (1e-4), and the transforms
/// of oneDNN's Winograd kernels cancel about three digits (1e-3). Ours have tighter bounds of their
/// own, which winograd_test and fft_test hold them to.
double tolerance(const KernelKey& key, std::string_view algorithm);

}  // namespace troika
