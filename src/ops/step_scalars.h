// The small buffers that hold what changes from step to step. The graph itself never changes
// (law 3).
#pragma once

#include <cstddef>
#include <cstdint>

namespace troika {

/// Names of these buffers; on several devices "@" and the device follow.
inline constexpr const char* kScalarsName = "step.scalars";
inline constexpr const char* kControlName = "step.control";
/// Scalars of the step before, for updates that are carried into the next one.
inline constexpr const char* kCarriedScalarsName = "step.carried_scalars";

/// Index into the f64 buffer `scalars`, written by the host before a step.
enum class Scalar : std::size_t { learning_rate, update_step, key_low, key_high, count };

/// Index into the f64 buffer `control`, written by the guard operator.
enum class Control : std::size_t {
  loss,            ///< Mean loss of the step: sum of w*l over sum of w.
  gradient_scale,  ///< What updates multiply gradients by: 1/sum of w, times the clipping factor.
  ok,              ///< 1 while every step so far was finite. Sticky: the host alone sets it back.
  weight_sum,
  gradient_norm,  ///< Global norm of the scaled gradient before clipping; 0 when nobody asked.
  count
};

inline constexpr std::int64_t kScalarCount = static_cast<std::int64_t>(Scalar::count);
inline constexpr std::int64_t kControlCount = static_cast<std::int64_t>(Control::count);

/// The random key of a step, as dropout sees it.
struct StepKey {
  std::uint64_t seed = 0;
  std::uint32_t step = 0;
};

}  // namespace troika
