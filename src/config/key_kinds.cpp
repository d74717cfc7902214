#include "config/key_kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troika::config {
namespace {

std::string_view example_of(PeriodUnit unit) {
  switch (unit) {
    case PeriodUnit::steps:
      return "500 steps";
    case PeriodUnit::epochs:
      return "2 epochs";
    case PeriodUnit::seconds:
      return "10m";
    case PeriodUnit::percent:
      return "5%";
    case PeriodUnit::never:
      return "never";
  }
  return {};
}

/// 10^12 rather than a row of zeros that a reader would have to count.
std::string large_text(std::int64_t number) {
  constexpr std::int64_t kCountable = 1'000'000;
  int zeros = 0;
  std::int64_t rest = number;
  for (; rest > 1 && rest % 10 == 0; rest /= 10) ++zeros;
  return rest == 1 && number > kCountable ? fmt::format("10^{}", zeros) : std::to_string(number);
}

std::string join_or(const std::vector<std::string>& words) {
  if (words.size() < 2) return fmt::format("{}", fmt::join(words, ""));
  auto most = std::span(words).first(words.size() - 1);
  return fmt::format("{} or {}", fmt::join(most, ", "), words.back());
}

}  // namespace

std::string describe(const IntegerRange& range) {
  constexpr IntegerRange kAll;
  if (range.max == kAll.max) return fmt::format("an integer of at least {}", range.min);
  return fmt::format("an integer from {} to {}", range.min, large_text(range.max));
}

std::string describe(const NumberRange& range) {
  std::string low = fmt::format("{} {}", range.min_open ? "above" : "of at least", range.min);
  if (std::isinf(range.max)) return "a number " + low;
  return fmt::format("a number {} and {} {}", low, range.max_open ? "below" : "at most", range.max);
}

std::string describe_choices(const std::vector<std::string>& words) {
  return join_or(toml_texts(words));
}

std::string describe_rows(const std::vector<std::string>& keys) {
  return "an array of tables with " + join_or(keys);
}

std::string describe_units(const std::vector<PeriodUnit>& units) {
  std::vector<std::string> examples;
  examples.reserve(units.size());
  for (PeriodUnit unit : units) examples.push_back(toml_text(example_of(unit)));
  return "a period such as " + join_or(examples);
}

std::optional<std::int64_t> integer_in(const Value& value, const IntegerRange& range) {
  auto number = value.as<std::int64_t>();
  if (!number || *number < range.min || *number > range.max) return std::nullopt;
  return *number;
}

std::optional<double> number_in(const Value& value, const NumberRange& range) {
  // TOML tells 1 from 1.0; a key that wants a number takes both.
  double number = 0;
  if (auto integer = value.as<std::int64_t>()) {
    number = static_cast<double>(*integer);
  } else if (auto real = value.as<double>()) {
    number = *real;
  } else {
    return std::nullopt;
  }
  bool below = range.min_open ? number <= range.min : number < range.min;
  bool above = range.max_open ? number >= range.max : number > range.max;
  // TOML has inf and nan, and comparisons with nan are false.
  if (!std::isfinite(number) || below || above) return std::nullopt;
  return number;
}

std::optional<std::string> text_in(const Value& value) {
  if (auto text = value.as<std::string>()) return *text;
  // On the command line model.name=1e5 or run.name=2024 is typed without quotes and parsed as a
  // number; a key that wants text takes the characters as typed.
  bool is_scalar = !value.as<Array>() && !value.as<Table>();
  return is_scalar && !value.bare.empty() ? std::optional(value.bare) : std::nullopt;
}

std::optional<std::vector<std::string>> texts_in(const Value& value) {
  auto array = value.as<Array>();
  if (!array) return std::nullopt;
  std::vector<std::string> texts;
  for (const Value& element : *array) {
    auto text = element.as<std::string>();
    if (!text) return std::nullopt;
    texts.push_back(*text);
  }
  return texts;
}

std::optional<Period> period_in(const Value& value, const PeriodRule& rule) {
  auto text = text_in(value);
  auto period = text ? parse_period(*text) : std::nullopt;
  if (!period || std::ranges::find(rule.units, period->unit) == rule.units.end())
    return std::nullopt;
  // "never" has count 0 as well.
  bool is_zero = period->count == 0 && period->unit != PeriodUnit::never;
  return is_zero && !rule.allow_zero ? std::nullopt : period;
}

std::string inline_table(const std::vector<Entry>& entries, const std::string& path) {
  std::vector<std::string> fields;
  for (const Entry& entry : entries) {
    // An unused key would be refused when the text is read again.
    if (entry.value.empty() || !entry.applies) continue;
    fields.push_back(fmt::format("{} = {}", entry.path.substr(path.size() + 1), entry.value));
  }
  return fmt::format("{{ {} }}", fmt::join(fields, ", "));
}

std::string print_texts(const std::vector<std::string>& texts) {
  return toml_list(toml_texts(texts));
}

}  // namespace troika::config
