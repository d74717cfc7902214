// Classes of random aspects on random machines, against the definition.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "lower/testing/made_aspects.h"

namespace troika {
namespace {

/// Seeded draws.
class Random {
 public:
  explicit Random(std::uint64_t seed) : random_{.key = seed} {}
  std::int32_t below(std::int32_t bound) {
    return static_cast<std::int32_t>(random_.below(at_++, static_cast<std::uint64_t>(bound)));
  }

 private:
  RandomStream random_;
  std::uint64_t at_ = 0;
};

/// Devices in a ring, with links of one speed or two, and sometimes one more link.
Machine random_ring(Random& random) {
  std::int32_t devices = 3 + random.below(6);
  Machine machine = equal_devices(as_index(devices));
  std::int32_t speeds = 1 + random.below(2);
  for (std::int32_t i = 0; i < devices; ++i)
    machine.links.push_back({i, (i + 1) % devices, {.bytes_per_second = 1e9 * (1 + i % speeds)}});
  if (random.below(2) == 0) machine.links.push_back({0, devices / 2, {.latency = {1}}});
  return machine;
}

/// Nodes and processes at random, mostly equal; no links, a tree, or links with cycles.
Machine random_machine(Random& random) {
  Cluster cluster{.network = {.nodes_per_switch = random.below(3)}};
  for (std::int32_t specs = 1 + random.below(2); specs > 0; --specs) {
    std::int32_t each = 1 + random.below(4);
    cluster.nodes.push_back({.name = fmt::format("n{}_", specs),
                             .count = 1 + random.below(4),
                             .devices = each,
                             .ranks = 1 + random.below(each)});
  }
  Machine machine = make_machine(cluster);
  auto any = [&](std::size_t size) { return as_index(random.below(static_cast<int>(size))); };
  if (random.below(3) == 0) machine.links.clear(), machine.hubs.clear();
  if (random.below(3) == 0) machine.devices[any(machine.devices.size())].kind = "other";
  if (!machine.links.empty() && random.below(3) == 0)
    machine.links[any(machine.links.size())].speed.bytes_per_second = 1e6;
  if (machine.hubs.size() > 2 && random.below(2) == 0) {
    auto first = static_cast<std::int32_t>(machine.devices.size());
    machine.links.push_back({.a = first, .b = first + 1});  // a cycle
  }
  return machine;
}

/// Mostly regular: groups of equal size with equal strides, some of them damaged.
Aspect random_aspect(std::int32_t devices, Random& random) {
  Aspect aspect;
  if (random.below(3) == 0)
    for (std::int32_t i = 0; i < devices; ++i) aspect.own.push_back(random.below(8) == 0 ? 1 : 0);
  for (std::int32_t lists = random.below(3); lists > 0; --lists) {
    std::int32_t size = 1 + random.below(devices);
    std::int32_t stride = 1 + random.below(devices);
    std::vector<Members> all;
    for (std::int32_t first = 0; first + size <= devices; first += size) {
      all.emplace_back();
      for (std::int32_t i = 0; i < size; ++i)
        all.back().push_back({(first + i) * stride % devices, random.below(12) == 0 ? 1 : 0});
      if (random.below(8) == 0) all.pop_back();
    }
    aspect.exchanges.push_back(exchanges(all, static_cast<std::uint64_t>(random.below(2))));
  }
  return aspect;
}

TEST(RandomClasses, EqualTheDefinitionOnRandomAspects) {
  std::map<std::size_t, int> seen;  // how many cases have how many classes
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    Machine machine = seed % 4 == 0 ? random_ring(random) : random_machine(random);
    std::vector<Aspect> aspects;
    for (std::int32_t count = 1 + random.below(3); count > 0; --count)
      aspects.push_back(random_aspect(static_cast<std::int32_t>(machine.devices.size()), random));
    std::vector<std::int32_t> classes = classes_of(machine, aspects);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    std::size_t count = as_index(*std::ranges::max_element(classes)) + 1;
    ++seen[std::min(count, classes.size() - 1)];
  }
  EXPECT_GT(seen[1], 100);  // neither all alike nor all different
  EXPECT_GT(seen[2] + seen[3] + seen[4], 200);
}

}  // namespace
}  // namespace troika
