#include "config/period.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/number_text.h"
#include "base/units.h"

namespace troika {
namespace {

constexpr double kMostSteps = 1e15;  // Exact in a double, and far beyond any run.

std::optional<PeriodUnit> parse_unit(std::string_view text) {
  if (text == "step" || text == "steps") return PeriodUnit::steps;
  if (text == "epoch" || text == "epochs") return PeriodUnit::epochs;
  if (text == "%") return PeriodUnit::percent;
  return std::nullopt;
}

std::optional<Period> parse_time(std::string_view text) {
  try {
    return Period{parse_seconds(text), PeriodUnit::seconds};
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool sensible(const Period& period) {
  if (!std::isfinite(period.count) || period.count < 0 || period.count > kMostSteps) return false;
  if (period.unit == PeriodUnit::steps) return period.count == std::floor(period.count);
  return period.unit != PeriodUnit::percent || period.count <= 100;
}

}  // namespace

std::optional<Period> parse_period(std::string_view text) {
  if (text == "never") return Period{0, PeriodUnit::never};
  std::string_view rest = text;
  auto count = take_number<double>(rest);
  if (!count) return std::nullopt;
  Period period{.count = *count};
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  if (auto unit = parse_unit(rest)) {
    period.unit = *unit;
  } else if (auto time = parse_time(text)) {
    // From the whole text: parse_seconds alone knows the units of time.
    period = *time;
  } else {
    return std::nullopt;
  }
  return sensible(period) ? std::optional(period) : std::nullopt;
}

std::string to_string(const Period& period) {
  std::string plural = period.count == 1 ? "" : "s";
  switch (period.unit) {
    case PeriodUnit::steps:
      return fmt::format("{} step{}", period.count, plural);
    case PeriodUnit::epochs:
      return fmt::format("{} epoch{}", period.count, plural);
    case PeriodUnit::seconds:
      return fmt::format("{}s", period.count);
    case PeriodUnit::percent:
      return fmt::format("{}%", period.count);
    case PeriodUnit::never:
      return "never";
  }
  return {};
}

std::int64_t steps_of(const Period& period, const RunLength& length) {
  double steps = period.count;
  switch (period.unit) {
    case PeriodUnit::steps:
      break;
    case PeriodUnit::epochs:
      steps *= length.steps_per_epoch;
      break;
    case PeriodUnit::percent:
      steps *= static_cast<double>(length.total_steps) / 100;
      break;
    case PeriodUnit::seconds:
    case PeriodUnit::never:
      TROIKA_CHECK(false, to_string(period) + " is not a number of steps");
  }
  // A period that is not zero is at least one step, however short the run is.
  if (period.count == 0) return 0;
  return std::max<std::int64_t>(1, std::llround(steps));
}

}  // namespace troika
