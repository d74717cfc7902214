// How well a model does on a set of samples.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "config/metric.h"

namespace troika {

struct Figure {
  Metric::Measure measure;
  double value;

  bool operator==(const Figure&) const = default;
};

/// At most one of each measure; the loss comes first.
using Figures = std::vector<Figure>;

inline std::optional<double> find(const Figures& figures, Metric::Measure measure) {
  auto found = std::ranges::find(figures, measure, &Figure::measure);
  return found == figures.end() ? std::nullopt : std::optional(found->value);
}

}  // namespace troika
