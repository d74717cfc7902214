#include "taskgraph/sent_bytes.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

TEST(SentBytes, CountWhatCrossesSharedMemoryAsARingDoes) {
  TaskGraph graph;
  Communication sum{.devices = {DeviceId(std::size_t{0}), DeviceId(std::size_t{1})}};
  sum.call = {.kind = Collective::all_reduce, .members = 2, .count = 100};
  sum.algorithm = "ring";
  graph.communications.push_back(sum);
  SentBytes by_ring = sent_bytes(graph, DeviceId(std::size_t{0}));
  EXPECT_EQ(by_ring.process.count, 400);
  graph.communications[0].algorithm = "direct";
  EXPECT_EQ(sent_bytes(graph, DeviceId(std::size_t{0})), by_ring);
}

}  // namespace
}  // namespace troika
