// Small buffers for the values that change from step to step. The graph itself does not change
// (law 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace troika {

/// Names of these buffers. With several devices "@" and the device are appended.
inline constexpr const char* kScalarsName = "step.scalars";
inline constexpr const char* kControlName = "step.control";
inline constexpr const char* kLaggingScalarsName = "step.scalars_of_lag_";
/// The scalars for tasks that run `lag` passes later than their step: those of that step.
inline std::string scalars_name(int lag) {
  return lag == 0 ? kScalarsName : kLaggingScalarsName + std::to_string(lag);
}

/// Index into the f64 buffer `scalars`, written by the host before a step.
enum class Scalar : std::size_t { learning_rate, update_step, key_low, key_high, count };

/// Index into the f64 buffer `control`, written by the guard operator.
enum class Control : std::size_t {
  loss,            ///< Mean loss of the step: sum of w*l over sum of w.
  gradient_scale,  ///< Factor of gradients in updates: 1/sum of w, times the clipping factor.
  ok,              ///< 1 while all steps so far were finite. Only the host resets it to 1.
  weight_sum,
  gradient_norm,  ///< Global norm of the scaled gradient before clipping; 0 if not computed.
  count
};

inline constexpr std::int64_t kScalarCount = static_cast<std::int64_t>(Scalar::count);
inline constexpr std::int64_t kControlCount = static_cast<std::int64_t>(Control::count);

/// The random key of a step, for dropout.
struct StepKey {
  std::uint64_t seed = 0;
  std::uint32_t step = 0;
};

}  // namespace troika
