#include "lower/place_buffers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "taskgraph/verify.h"

namespace troika {
namespace {

const TensorSpec kRow{{16}, DType::f32};  // 64 bytes: one unit of the arena

/// Tasks x -> a -> b -> ... with lags, whose results may take their operand's memory.
struct LaggingChain {
  TaskGraph graph{.name = "chain", .arena = {Bytes{}}};
  KernelTable table;
  BufferId last = add_buffer("x");

  explicit LaggingChain(const std::vector<int>& lags) {
    for (int lag : lags) last = add_task(last, lag);
  }

  /// The result of one more task.
  BufferId add_task(BufferId operand, int lag) {
    KernelKey key{Sum{.count = 1}, {kRow}, Phase::forward, {}};
    table.insert({"", key}, {{.algorithm = "fake",
                              .layouts = std::vector<Layout>(2),
                              .in_place = {{.write = 1, .read = 0}}}});
    BufferId result = add_buffer(std::string(1, static_cast<char>('a' + graph.tasks.size())));
    graph.tasks.push_back({.id = {0, static_cast<std::int32_t>(graph.tasks.size())},
                           .name = graph[result].name,
                           .device = DeviceId(0u),
                           .key = key,
                           .choice = {"fake", std::vector<Layout>(2), {}, {}},
                           .uses = {{operand, Access::read}, {result, Access::write}},
                           .lag = lag});
    return result;
  }
  BufferId add_buffer(const std::string& name) {
    graph.buffers.push_back({.name = name, .spec = kRow, .device = DeviceId(0u)});
    return BufferId(graph.buffers.size() - 1);
  }

  /// How many results are in place.
  std::ptrdiff_t place() {
    place_buffers(graph, {{DeviceSpec{}}}, table);
    graph.dependencies = find_dependencies(graph);
    EXPECT_NO_THROW(verify(graph, Stage::placed)) << to_text(graph);
    return std::ranges::count_if(graph.buffers,
                                 [](const BufferSpec& buffer) { return buffer.view_of.valid(); });
  }
};

struct Row {
  std::vector<int> lags;
  std::ptrdiff_t in_place;
  std::int64_t arena;  // in buffers
};

TEST(PlaceBuffers, SharesMemoryWithinALagButNotWithAValueThatALaterPassReads) {
  for (const Row& row : {Row{{0, 0, 0, 0}, 4, 1}, Row{{0, 1, 1, 1}, 2, 3}, Row{{0, 0, 1, 1}, 2, 3},
                         Row{{0, 0, 0, 1}, 2, 3}, Row{{0, 1, 2, 3}, 0, 5}, Row{{0, 1, 2, 2}, 1, 4},
                         Row{{0, 1, 1, 2}, 1, 4}}) {
    LaggingChain chain(row.lags);
    chain.graph.inputs["x"] = BufferId(0u);
    EXPECT_EQ(chain.place(), row.in_place) << to_text(chain.graph);
    EXPECT_EQ(chain.graph.arena[0].count, 64 * row.arena) << to_text(chain.graph);
  }
}

TEST(PlaceBuffers, TheLastTaskOfAPassDoesNotOverwriteAValueThatTheNextPassReads) {
  for (const std::vector<int>& lags : {std::vector{0}, std::vector{0, 0}}) {
    LaggingChain chain(lags);
    chain.graph.buffers[0].persistent = true;
    chain.add_task(chain.last, 1);
    chain.add_task(chain.last, 0);
    EXPECT_EQ(loop_order(chain.graph).back(), chain.graph.tasks.size() - 1);
    EXPECT_EQ(chain.place(), std::ssize(lags) - 1);
  }
}

}  // namespace
}  // namespace troika
