#include "config/run_config.h"

#include <array>

namespace troika {

std::span<const Choice<TrainConfig::Guard>> choices(TrainConfig::Guard) {
  using enum TrainConfig::Guard;
  static constexpr auto kWords =
      std::to_array<Choice<TrainConfig::Guard>>({{loss, "loss"}, {gradient, "gradient"}});
  return kWords;
}

std::span<const Choice<ScheduleConfig::Kind>> choices(ScheduleConfig::Kind) {
  using enum ScheduleConfig::Kind;
  static constexpr auto kWords = std::to_array<Choice<ScheduleConfig::Kind>>(
      {{constant, "constant"}, {step, "step"}, {polynomial, "polynomial"}, {cosine, "cosine"}});
  return kWords;
}

std::span<const Choice<OptimizerConfig::Kind>> choices(OptimizerConfig::Kind) {
  using enum OptimizerConfig::Kind;
  static constexpr auto kWords = std::to_array<Choice<OptimizerConfig::Kind>>(
      {{sgd, "sgd"}, {adam, "adam"}, {adamw, "adamw"}, {lars, "lars"}, {lamb, "lamb"}});
  return kWords;
}

std::span<const Choice<ParallelConfig::Order>> choices(ParallelConfig::Order) {
  using enum ParallelConfig::Order;
  static constexpr auto kWords =
      std::to_array<Choice<ParallelConfig::Order>>({{fast, "fast"}, {fixed, "fixed"}});
  return kWords;
}

std::span<const Choice<ParallelConfig::Weights>> choices(ParallelConfig::Weights) {
  using enum ParallelConfig::Weights;
  static constexpr auto kWords =
      std::to_array<Choice<ParallelConfig::Weights>>({{equal, "equal"}, {measured, "measured"}});
  return kWords;
}

std::span<const Choice<KernelsConfig::Backend>> choices(KernelsConfig::Backend) {
  using enum KernelsConfig::Backend;
  static constexpr auto kWords =
      std::to_array<Choice<KernelsConfig::Backend>>({{cpu, "cpu"}, {reference, "reference"}});
  return kWords;
}

std::span<const Choice<DType>> choices(DType) {
  static const auto kWords = std::to_array<Choice<DType>>(
      {{DType::f32, to_string(DType::f32)}, {DType::f64, to_string(DType::f64)}});
  return kWords;
}

}  // namespace troika
