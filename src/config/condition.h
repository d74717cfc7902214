// A condition that ends a run, such as "test_accuracy >= 0.99".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/metric.h"

namespace troika {

struct Condition {
  enum class Comparison { less, less_equal, greater, greater_equal };

  Metric metric;
  Comparison comparison = Comparison::greater_equal;
  double bound = 0;

  bool operator==(const Condition&) const = default;
};

std::span<const Choice<Condition::Comparison>> choices(Condition::Comparison);

/// METRIC (< | <= | > | >=) NUMBER, with or without spaces.
std::optional<Condition> parse_condition(std::string_view text);
std::string to_string(const Condition& condition);

bool holds(const Condition& condition, double value);

}  // namespace troika
