// Per element (x - target)^2 or |x - target|; dx = 2 * (x - target) or the sign of x - target, 0
// where they are equal. For sums and weights see sample_loss.h.
#pragma once

#include <array>
#include <span>

#include "ops/signature.h"

namespace troika {

/// The error of one element.
enum class Penalty { squared, absolute };
std::span<const std::string_view> enum_names(Penalty);

struct MeanError {
  static constexpr std::string_view kName = "mean_error";
  Penalty penalty = Penalty::squared;

  static void fields(auto& self, auto&& visit) { visit("penalty", self.penalty); }
  bool operator==(const MeanError&) const = default;
};

/// Inputs: x [n, ..], target of x's shape or [n], weight [n]. Outputs: loss_sum f64 [1], weight_sum
/// f64 [1].
Signature signature(const MeanError& op, std::span<const TensorSpec> inputs);

}  // namespace troika
