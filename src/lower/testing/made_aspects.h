// For tests: aspects made by hand, and their classes, checked against the definition.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "lower/testing/colour_refinement.h"
#include "machine/cluster.h"

namespace troika {

using Members = std::vector<Membership>;

/// Communications of one shape.
inline Exchanges exchanges(const std::vector<Members>& all, std::uint64_t shape = 7) {
  Exchanges made{.shape = shape};
  for (const Members& members : all) {
    made.members.insert(made.members.end(), members.begin(), members.end());
    made.ends.push_back(static_cast<std::int32_t>(made.members.size()));
  }
  return made;
}

/// These devices, with the same part.
inline Members alike(std::int32_t first, std::int32_t count, std::int32_t stride = 1) {
  Members members;
  for (std::int32_t i = 0; i < count; ++i) members.push_back({first + i * stride, 0});
  return members;
}

inline Aspect exchange(const std::vector<Members>& all) { return {.exchanges = {exchanges(all)}}; }

/// Also that the definition gives the same.
inline std::vector<std::int32_t> classes_of(const Machine& machine,
                                            const std::vector<Aspect>& aspects) {
  std::vector<const Aspect*> given;
  for (const Aspect& aspect : aspects) given.push_back(&aspect);
  Classes found = find_partition(machine, given).devices;
  Classes defined = refine_naively(machine, facts_of(machine, given));
  EXPECT_EQ(found.of_device, defined.of_device);
  EXPECT_EQ(found, defined);
  return found.of_device;
}

inline Machine equal_devices(std::size_t count) { return {std::vector<DeviceSpec>(count)}; }

/// Equal nodes behind one switch, or behind several.
inline Machine cluster(std::int64_t nodes, std::int64_t devices,
                       std::int64_t nodes_per_switch = 0) {
  return make_machine({.nodes = {{.count = nodes, .devices = devices, .ranks = devices}},
                       .network = {.nodes_per_switch = nodes_per_switch}});
}

}  // namespace troika
