#include "machine/speed_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>

#include "base/number_text.h"

namespace troika {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 17> kRates{{{"bps", 1 / 8.},
                                       {"Kbps", 1e3 / 8},
                                       {"Mbps", 1e6 / 8},
                                       {"Gbps", 1e9 / 8},
                                       {"Tbps", 1e12 / 8},
                                       {"Kbit/s", 1e3 / 8},
                                       {"Mbit/s", 1e6 / 8},
                                       {"Gbit/s", 1e9 / 8},
                                       {"Tbit/s", 1e12 / 8},
                                       {"KB/s", 1e3},
                                       {"MB/s", 1e6},
                                       {"GB/s", 1e9},
                                       {"TB/s", 1e12},
                                       {"KiB/s", 0x1p10},
                                       {"MiB/s", 0x1p20},
                                       {"GiB/s", 0x1p30},
                                       {"TiB/s", 0x1p40}}};
constexpr std::array<Unit, 4> kTimes{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
constexpr std::array<Unit, 5> kFlops{
    {{"flops", 1}, {"Mflops", 1e6}, {"Gflops", 1e9}, {"Tflops", 1e12}, {"Pflops", 1e15}}};

/// A number of at least 0 and one of the units.
std::optional<double> parse(std::string_view text, std::span<const Unit> units) {
  std::optional<double> number = take_number<double>(text);
  if (!number || !std::isfinite(*number) || *number < 0) return std::nullopt;
  while (text.starts_with(' ')) text.remove_prefix(1);
  for (const Unit& unit : units)
    if (text == unit.name) return *number * unit.factor;
  return std::nullopt;
}

/// Slow enough for any device, and fast enough that times of messages stay finite.
std::optional<double> at_least_one(std::optional<double> number) {
  return number && *number >= 1 && *number < 1e30 ? number : std::nullopt;
}

/// With the largest unit that leaves at least 1.
std::string print(double value, std::span<const Unit> units) {
  const Unit* chosen = &units.front();
  for (const Unit& unit : units)
    if (value >= unit.factor) chosen = &unit;
  return fmt::format("{:.4g} {}", value / chosen->factor, chosen->name);
}

}  // namespace

std::optional<double> parse_rate(std::string_view text) {
  return at_least_one(parse(text, kRates));
}

std::string rate_text(double bytes_per_second) {
  // KB/s to TB/s.
  return print(bytes_per_second, std::span(kRates).subspan(9, 4));
}

std::optional<SimTime> parse_latency(std::string_view text) {
  auto nanoseconds = parse(text, kTimes);
  if (!nanoseconds || *nanoseconds > 1e15) return std::nullopt;
  return SimTime{std::llround(*nanoseconds)};
}

std::optional<double> parse_flops(std::string_view text) {
  return at_least_one(parse(text, kFlops));
}

std::string flops_text(double flops_per_second) { return print(flops_per_second, kFlops); }

}  // namespace troika
