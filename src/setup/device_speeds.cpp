#include "setup/device_speeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "profile/rates.h"

namespace troika {
namespace {

/// Returns the speed that each rank measures on its first device, indexed by rank.
std::vector<double> measure_ranks(const RuntimeSetup& setup) {
  // All devices of a rank are of one kind, so one measurement is enough.
  double own =
      measure_rates(setup.machine.devices.front(), setup.device(), *setup.backend).flops_per_second;
  std::vector<double> speeds;
  for (const std::string& text : setup.ranks->exchange(fmt::format("{}", own)))
    speeds.push_back(std::strtod(text.c_str(), nullptr));
  return speeds;
}

}  // namespace

std::vector<double> relative_speeds(const std::vector<double>& measured) {
  double slowest = *std::ranges::min_element(measured);
  std::vector<double> relative;
  for (double speed : measured) relative.push_back(std::round(4 * speed / slowest) / 4);
  return relative;
}

Machine with_speeds(Machine machine, const std::vector<double>& speeds) {
  for (DeviceSpec& device : machine.devices)
    device.slowdown = speeds.front() / speeds.at(static_cast<std::size_t>(device.rank));
  return machine;
}

Machine with_slow_ranks(Machine machine, const std::vector<double>& speeds) {
  constexpr double kSlow = 1.5;
  auto [slowest, fastest] = std::ranges::minmax(speeds);
  return fastest < kSlow * slowest ? machine : with_speeds(std::move(machine), speeds);
}

std::vector<double> measure_speeds(const RuntimeSetup& setup) {
  return relative_speeds(measure_ranks(setup));
}

}  // namespace troika
