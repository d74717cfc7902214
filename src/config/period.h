// A length or an interval: "1 epoch", "500 steps", "10m", "5%", "never".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troika {

enum class PeriodUnit { steps, epochs, seconds, percent, never };

struct Period {
  double count = 0;
  PeriodUnit unit = PeriodUnit::steps;

  bool operator==(const Period&) const = default;
};

/// Steps are whole numbers; epochs, percent of the run and times ("90s", "10m", "2h") may be
/// fractions.
std::optional<Period> parse_period(std::string_view text);
/// The text that parse_period reads back to the same value.
std::string to_string(const Period& period);

struct RunLength {
  double steps_per_epoch = 1;
  std::int64_t total_steps = 0;
};

/// A period in steps, epochs or percent as a number of steps: rounded, and at least 1 unless it is
/// zero. Precondition: the unit is not seconds or never.
std::int64_t steps_of(const Period& period, const RunLength& length);

}  // namespace troika
