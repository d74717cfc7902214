#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/number_text.h"

namespace troika {
namespace {

/// A non-negative number and the text behind it.
struct Split {
  double number;
  std::string_view unit;
};

Split split_number(std::string_view text, std::string_view what) {
  std::string_view unit = text;
  auto number = take_number<double>(unit);
  if (!number || !std::isfinite(*number) || *number < 0)
    throw Error(ErrorKind::usage, fmt::format("'{}' is not a {}", text, what));
  // "10 KB" and "10KB" are the same.
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  return {*number, unit};
}

}  // namespace

std::string to_string(Bytes bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes.count);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  return unit == 0 ? fmt::format("{} B", bytes.count)
                   : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string to_string(SimTime time) {
  double value = static_cast<double>(time.count);
  if (value < 1e3) return fmt::format("{} ns", time.count);
  if (value < 1e6) return fmt::format("{:.1f} us", value / 1e3);
  if (value < 1e9) return fmt::format("{:.1f} ms", value / 1e6);
  return fmt::format("{:.2f} s", value / 1e9);
}

std::string with_commas(std::int64_t number) {
  std::string digits = std::to_string(number < 0 ? -number : number);
  // From the right, so that inserted commas do not move the positions still to come.
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return number < 0 ? "-" + digits : digits;
}

Bytes parse_bytes(std::string_view text) {
  auto [number, unit] = split_number(text, "size such as 64MiB, 10KB or 512");
  constexpr std::array<std::pair<std::string_view, double>, 10> kUnits{{{"", 1},
                                                                        {"B", 1},
                                                                        {"KiB", 0x1p10},
                                                                        {"MiB", 0x1p20},
                                                                        {"GiB", 0x1p30},
                                                                        {"TiB", 0x1p40},
                                                                        {"KB", 1e3},
                                                                        {"MB", 1e6},
                                                                        {"GB", 1e9},
                                                                        {"TB", 1e12}}};
  for (auto [name, factor] : kUnits) {
    // Below 2^62, so that the conversion and a sum of two sizes cannot overflow.
    if (unit == name && number * factor < 0x1p62)
      return {static_cast<std::int64_t>(number * factor)};
  }
  throw Error(ErrorKind::usage, fmt::format("'{}' is not a size such as 64MiB, 10KB or 512", text));
}

double parse_seconds(std::string_view text) {
  auto [number, unit] = split_number(text, "time such as 30s, 10m or 500ms");
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}}};
  for (auto [name, factor] : kUnits) {
    if (unit == name) return number * factor;
  }
  throw Error(ErrorKind::usage, fmt::format("'{}' is not a time such as 30s, 10m or 500ms", text));
}

}  // namespace troika
