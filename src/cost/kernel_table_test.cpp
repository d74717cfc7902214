#include "cost/kernel_table.h"

#include <gtest/gtest.h>

#include "cost/retime.h"
#include "cost/table_json.h"

namespace troika {
namespace {

KernelKey key(std::int64_t out) {
  return {Linear{.out = out}, {{{4, 3}, DType::f32}}, Phase::forward, {}};
}

TEST(KernelTable, TellsAnUnaskedKeyFromOneWithoutKernels) {
  KernelTable table;
  EXPECT_EQ(table.find(key(1)), nullptr);
  table.insert(key(1), {});
  ASSERT_NE(table.find(key(1)), nullptr);
  EXPECT_TRUE(table.find(key(1))->empty());
}

TEST(KernelTable, HashFollowsAlgorithmsAndLayouts) {
  KernelTable a, b;
  a.insert(key(1), {{.algorithm = "direct", .layouts = {Layout::plain}}});
  b.insert(key(1), {{.algorithm = "direct", .layouts = {Layout::plain}}});
  EXPECT_EQ(a.hash(), b.hash());
  b.insert(key(1), {{.algorithm = "direct", .layouts = {Layout::transposed}}});
  EXPECT_NE(a.hash(), b.hash());
}

TEST(KernelTableJson, NamesKeyAlgorithmAndLayouts) {
  KernelTable table;
  table.insert(key(1), {{.algorithm = "direct", .layouts = {Layout::plain}, .time = SimTime{5}}});
  std::string json = to_json(table, "cpu");
  for (const char* part :
       {"linear{out=1} forward f32[4,3]", "\"direct\"", "\"plain\"", "\"nanoseconds\": 5"})
    EXPECT_NE(json.find(part), std::string::npos) << json;
}

TEST(Retime, GivesEachTaskTheRooflineOfItsDevice) {
  TaskGraph graph{.arena = {Bytes{}}};
  graph.tasks.push_back({.device = DeviceId(0u), .key = key(1000)});
  Machine machine{{{.flops_per_second = 1e9, .bytes_per_second = 1e18}}};
  EXPECT_EQ(retime(graph, machine).tasks[0].choice.time, SimTime{2 * 4 * 3 * 1000});
}

}  // namespace
}  // namespace troika
