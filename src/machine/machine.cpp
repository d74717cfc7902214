#include "machine/machine.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>

namespace troika {

std::int32_t node_count(const Machine& machine) {
  std::int32_t last = -1;
  for (const DeviceSpec& device : machine.devices) last = std::max(last, device.node);
  return last + 1;
}

std::vector<DeviceId> devices_of_node(const Machine& machine, std::int32_t node) {
  std::vector<DeviceId> found;
  for (std::size_t device = 0; device < machine.devices.size(); ++device)
    if (machine.devices[device].node == node) found.push_back(DeviceId(device));
  return found;
}

std::vector<std::vector<DeviceId>> devices_by_rank(const Machine& machine) {
  std::vector<std::vector<DeviceId>> processes;
  for (std::size_t device = 0; device < machine.devices.size(); ++device) {
    auto rank = static_cast<std::size_t>(machine.devices[device].rank);
    if (processes.size() <= rank) processes.resize(rank + 1);
    processes[rank].push_back(DeviceId(device));
  }
  return processes;
}

SimTime overhead_of(const LinkSpeed& speed) {
  if (speed.overhead) return *speed.overhead;
  return {std::llround(static_cast<double>(speed.latency.count) * kAssumedOverheadShare)};
}

SimTime occupied_time(const LinkSpeed& speed, Bytes bytes) {
  double sent = static_cast<double>(bytes.count) / speed.bytes_per_second;
  return overhead_of(speed) + SimTime{std::llround(sent * 1e9)};
}

std::vector<std::int32_t> number_kinds(const Machine& machine) {
  std::map<std::tuple<std::string_view, double, double>, std::int32_t> numbers;
  std::vector<std::int32_t> kinds;
  for (const DeviceSpec& device : machine.devices) {
    auto next = static_cast<std::int32_t>(numbers.size());
    std::tuple kind(std::string_view(device.kind), device.flops_per_second,
                    device.bytes_per_second);
    kinds.push_back(numbers.try_emplace(kind, next).first->second);
  }
  return kinds;
}

SimTime time_on(const DeviceSpec& device, SimTime of_kind) {
  if (device.slowdown == 1) return of_kind;
  return {std::llround(static_cast<double>(of_kind.count) * device.slowdown)};
}

SimTime roofline_time(const DeviceSpec& device, Flops flops, Bytes bytes) {
  // Arithmetic and memory traffic overlap, so the slower one counts. Williams, Waterman and
  // Patterson 2009, doi:10.1145/1498765.1498785.
  double seconds = std::max(static_cast<double>(flops.count) / device.flops_per_second,
                            static_cast<double>(bytes.count) / device.bytes_per_second);
  return {std::llround(seconds * 1e9)};
}

}  // namespace troika
