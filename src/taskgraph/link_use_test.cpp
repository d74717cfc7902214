#include "taskgraph/link_use.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

FoldedTask finish(std::int32_t of, const MessagePhases& phases) {
  return {.call = {.kind = 1, .of = of},
          .phases = SharedPhases(std::make_shared<const MessagePhases>(phases)),
          .kind = TaskKind::finish};
}

TEST(LinkUse, AddsUpEachMessageOnceWithItsRepeats) {
  // Two phases, the second one three times, on links 4 and 7.
  MessagePhases sum{
      .phases = {{.first_load = 0, .loads = 1}, {.first_load = 1, .loads = 2, .repeats = 3}},
      .loads = {{4, {100}, {10}}, {4, {20}, {2}}, {7, {200}, {1}}}};
  MessagePhases other{.phases = {{.first_load = 0, .loads = 1}}, .loads = {{4, {5}, {50}}}};
  FoldedGraph graph;
  // Devices of two classes take part in the first message.
  graph.tasks = {{finish(0, sum), finish(1, other)}, {finish(0, sum)}};
  std::vector<LinkUse> expected{{7, {3}, {600}}, {4, {66}, {165}}};
  EXPECT_EQ(link_use(graph), expected);
}

}  // namespace
}  // namespace troika
