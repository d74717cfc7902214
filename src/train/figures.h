// How well a model does on a set of samples.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
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

/// Each figure under the name of its metric, such as "test_loss", for JSON.
inline std::vector<std::pair<std::string, double>> named_figures(Metric::Set set,
                                                                 const Figures& figures) {
  std::vector<std::pair<std::string, double>> named;
  for (const Figure& figure : figures)
    named.emplace_back(to_word(Metric{set, figure.measure}), figure.value);
  return named;
}

}  // namespace troika
