#include "train/device_speeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "profile/rates.h"

namespace troika {
namespace {

/// In the order of the ranks.
std::vector<double> measure_ranks(const Machinery& machinery) {
  double own =
      measure_rates(machinery.machine.devices.front(), machinery.device(), *machinery.backend)
          .flops_per_second;
  if (machinery.ranks == nullptr) return {own};
  std::vector<double> speeds;
  for (const std::string& text : machinery.ranks->exchange(fmt::format("{}", own)))
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

Machine with_measured_speeds(const Machinery& machinery) {
  std::vector<double> speeds = relative_speeds(measure_ranks(machinery));
  Machine machine = machinery.machine;
  for (DeviceSpec& device : machine.devices)
    device.flops_per_second *= speeds.at(static_cast<std::size_t>(device.rank));
  return machine;
}

}  // namespace troika
