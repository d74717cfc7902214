#include "cost/occupancy.h"

#include <algorithm>
#include <cmath>

namespace troika {
namespace {

/// Devices that compute, and those that do so at the same time, on average.
struct Load {
  double devices = 1, at_once = 1;

  double turns() const { return devices / at_once; }
};

Load load_of(const Occupancy& occupancy) {
  return {static_cast<double>(occupancy.devices), static_cast<double>(occupancy.at_once)};
}

/// Seconds per byte on each of `devices`: linear between measured numbers of devices, because that
/// is how devices share a memory which is busy all the time.
double seconds_per_byte(const MemoryRates& rates, double devices) {
  auto above = std::ranges::find_if(
      rates, [&](const auto& rate) { return static_cast<double>(rate.first) >= devices; });
  if (above == rates.end()) return 1 / rates.rbegin()->second;
  if (above == rates.begin()) return 1 / above->second;
  auto below = std::prev(above);
  double share = (devices - static_cast<double>(below->first)) /
                 static_cast<double>(above->first - below->first);
  return (1 - share) / below->second + share / above->second;
}

SimTime changed(SimTime time, Bytes bytes, const MemoryRates& rates, const Load& from,
                const Load& to) {
  double own = static_cast<double>(time.count) / from.turns();
  if (!rates.empty() && from.at_once != to.at_once && bytes.count > 0) {
    auto moved = static_cast<double>(bytes.count);
    double before = 1e9 * moved * seconds_per_byte(rates, from.at_once);
    double after = 1e9 * moved * seconds_per_byte(rates, to.at_once);
    // A kernel whose operands come from a cache is faster than memory: all of its time changes.
    own = before < own ? own - before + after : own * after / before;
  }
  return {std::llround(own * to.turns())};
}

}  // namespace

Occupancy occupancy_of(std::int32_t devices, std::int32_t at_once) {
  return {.devices = devices, .at_once = std::clamp(at_once, 1, devices)};
}

Occupancy occupancy_of(const Machine& machine, std::int32_t at_once) {
  std::map<std::int32_t, std::int32_t> devices;  // by node
  std::int32_t most = 1;
  for (const DeviceSpec& device : machine.devices) most = std::max(most, ++devices[device.node]);
  return occupancy_of(most, at_once);
}

SimTime reoccupied(SimTime time, Bytes bytes, const MemoryRates& rates, Reoccupation change) {
  if (change.from == change.to) return time;
  return changed(time, bytes, rates, load_of(change.from), load_of(change.to));
}

SimTime reoccupied(SimTime time, Bytes bytes, const MemoryRates& rates, const Occupancy& from,
                   double busy) {
  Load before = load_of(from);
  return changed(time, bytes, rates, before,
                 {std::max(busy, 1.0), std::clamp(busy, 1.0, before.at_once)});
}

}  // namespace troika
