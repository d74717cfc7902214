// The classes of a task graph of all devices, by the definition.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/testing/found_messages.h"
#include "lower/testing/graph_facts.h"
#include "strategy/ready.h"

namespace troika {
namespace {

TEST(GraphClassesToday, Show) {
  for (std::size_t n : {2, 4, 8}) {
    OnDevices lowered(n, data_parallel);
    TaskGraph graph = lowered.run();
    RefinementFacts facts = facts_of(lowered.machine, graph);
    Classes classes = refine_naively(lowered.machine, facts);
    fmt::print("{} devices: {} classes\n", n, classes.count());
    for (std::int32_t c = 1; c < classes.count(); ++c)
      fmt::print("--- {} vs {}:\n{}\n", classes.first[0], classes.first[as_index(c)], first_difference(facts, 0, as_index(classes.first[as_index(c)])));
    if (n == 2) fmt::print("{}", facts.devices[0]);
    for (auto& c : facts.communications) { fmt::print("comm {}\n", c.shape); for (auto& m : c.members) fmt::print("   {} '{}'\n", m.device, m.part); }
  }
}

}  // namespace
}  // namespace troika
