#include "taskgraph/live_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "taskgraph/testing/loop.h"

namespace troika {
namespace {

using testing::ElementsAre;

TEST(LiveMemory, CountsEachBufferFromItsFirstTaskToItsLast) {
  Loop loop;  // buffers of 32 bytes
  loop.buffer("state", 0, true);
  loop.graph[loop.buffer("state")].category = Category::parameter;
  loop.input("a");
  loop.sum("b", {"a", "a"}, 0);
  loop.sum("c", {"b", "state"}, 0);
  loop.sum("elsewhere", {"far", "far"}, 0, 1);
  loop.sum("d", {"c", "c"}, 0);
  Timeline timeline;
  std::int64_t start = 0;
  for (const char* name : {"b", "c", "d"}) {
    timeline.spans.push_back({loop[name].id, DeviceId(0u), {start}, {start + 8}});
    start += 10;
  }
  LoopPass pass = pass_of(loop.graph, timeline, {30}, messages_of(loop.graph));
  ASSERT_EQ(pass.rows.size(), 1u);
  auto moment = [](std::int64_t time, std::int64_t activations) {
    return MemoryMoment{{time},
                        {{Category::parameter, {32}}, {Category::activation, {activations}}}};
  };
  EXPECT_THAT(live_memory(loop.graph, pass.rows[0]),
              ElementsAre(moment(0, 64), moment(8, 32), moment(10, 64), moment(18, 32),
                          moment(20, 64), moment(28, 0)));
}

TEST(LiveMemory, OfADeviceWithoutTasksIsNotKnown) {
  EXPECT_THAT(live_memory(Loop().graph, {}), ElementsAre());
}

}  // namespace
}  // namespace troika
