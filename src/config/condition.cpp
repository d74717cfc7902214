#include "config/condition.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/number_text.h"
#include "config/toml_text.h"

namespace troika {

std::span<const Choice<Condition::Comparison>> choices(Condition::Comparison) {
  using enum Condition::Comparison;
  static constexpr auto kWords = std::to_array<Choice<Condition::Comparison>>(
      {{less, "<"}, {less_equal, "<="}, {greater, ">"}, {greater_equal, ">="}});
  return kWords;
}

std::optional<Condition> parse_condition(std::string_view text) {
  std::size_t sign = text.find_first_of("<>");
  if (sign == std::string_view::npos) return std::nullopt;
  std::size_t length = text.substr(sign + 1).starts_with('=') ? 2 : 1;
  auto metric = from_word<Metric>(config::trim(text.substr(0, sign)));
  auto comparison = from_word<Condition::Comparison>(text.substr(sign, length));
  auto bound = parse_number<double>(config::trim(text.substr(sign + length)));
  if (!metric || !comparison || !bound || !std::isfinite(*bound)) return std::nullopt;
  return Condition{*metric, *comparison, *bound};
}

std::string to_string(const Condition& condition) {
  return fmt::format("{} {} {}", to_word(condition.metric), to_word(condition.comparison),
                     condition.bound);
}

bool holds(const Condition& condition, double value) {
  switch (condition.comparison) {
    case Condition::Comparison::less:
      return value < condition.bound;
    case Condition::Comparison::less_equal:
      return value <= condition.bound;
    case Condition::Comparison::greater:
      return value > condition.bound;
    case Condition::Comparison::greater_equal:
      return value >= condition.bound;
  }
  return false;
}

}  // namespace troika
