#include "train/outcome.h"

#include <algorithm>
#include <cmath>

namespace troika {

const EvaluationReport* TrainOutcome::evaluation(Metric::Set set) const {
  auto found = std::ranges::find(evaluations, set, &EvaluationReport::set);
  return found == evaluations.end() ? nullptr : &*found;
}

void TrainOutcome::add(const EvaluationReport& report) {
  std::erase_if(evaluations, [&](const EvaluationReport& old) { return old.set == report.set; });
  evaluations.push_back(report);
}

std::optional<double> TrainOutcome::value_of(const Metric& metric) const {
  if (metric.set == Metric::Set::train) return loss;
  const EvaluationReport* report = evaluation(metric.set);
  return report == nullptr ? std::nullopt : find(report->figures, metric.measure);
}

bool is_target_reached(const std::optional<Condition>& until, const TrainOutcome& outcome) {
  if (!until) return false;
  std::optional<double> value = outcome.value_of(until->metric);
  return value && holds(*until, *value);
}

bool is_better(const Metric& metric, double value, std::optional<double> best) {
  // A comparison with NaN is false, so NaN is never better; only as a first value it needs a test.
  if (!best) return !std::isnan(value);
  return is_higher_better(metric.measure) ? value > *best : value < *best;
}

}  // namespace troika
