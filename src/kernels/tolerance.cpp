#include "kernels/tolerance.h"

#include <algorithm>
#include <cmath>

namespace troika {
namespace {

// The reasons for these numbers are in the header.
constexpr double kTolerance = 2e-5, kNormTolerance = 1e-4, kLibraryWinogradTolerance = 1e-3,
                 kMostSqueezed = 1e-3;
constexpr double kTermsWithoutExtra = 4096;

/// Terms that are summed for each element of the result; one multiplication and one addition each.
double terms_per_element(const KernelKey& key) {
  std::int64_t elements = 1;
  for (const Operand& operand : operands_of(key))
    if (operand.access != Access::read)
      elements = std::max(elements, operand.spec.shape.elements());
  return static_cast<double>(flops_of(key).count) / 2 / static_cast<double>(elements);
}

/// Returns whether an activation squeezes the sums into [-1, 1].
bool is_squeezed(const KernelKey& key) {
  return std::ranges::any_of(key.fused, [](const FusedOp& next) {
    const auto* activation = std::get_if<Activation>(&next.op);
    return activation != nullptr && (activation->kind == ActivationKind::tanh ||
                                     activation->kind == ActivationKind::sigmoid);
  });
}

}  // namespace

double tolerance(const KernelKey& key, std::string_view algorithm) {
  if (algorithm == "winograd") return kLibraryWinogradTolerance;
  double least = std::holds_alternative<BatchNorm>(key.op) ? kNormTolerance : kTolerance;
  double terms = std::max(1.0, terms_per_element(key));
  if (is_squeezed(key)) return std::min(least * std::sqrt(terms), kMostSqueezed);
  return least * std::sqrt(std::max(1.0, terms / kTermsWithoutExtra));
}

}  // namespace troika
