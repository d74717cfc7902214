#include "config/metric.h"

#include <array>

namespace troika {

std::span<const Choice<Metric>> choices(Metric) {
  using enum Metric::Set;
  using M = Metric::Measure;
  static constexpr auto kWords = std::to_array<Choice<Metric>>({
      {{train, M::loss}, "loss"},
      {{validation, M::loss}, "validation_loss"},
      {{validation, M::accuracy}, "validation_accuracy"},
      {{validation, M::top5}, "validation_top5"},
      {{validation, M::perplexity}, "validation_perplexity"},
      {{validation, M::absolute_error}, "validation_absolute_error"},
      {{test, M::loss}, "test_loss"},
      {{test, M::accuracy}, "test_accuracy"},
      {{test, M::top5}, "test_top5"},
      {{test, M::perplexity}, "test_perplexity"},
      {{test, M::absolute_error}, "test_absolute_error"},
  });
  return kWords;
}

bool is_higher_better(Metric::Measure measure) {
  return measure == Metric::Measure::accuracy || measure == Metric::Measure::top5;
}

}  // namespace troika
