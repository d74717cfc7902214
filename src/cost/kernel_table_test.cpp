#include "cost/kernel_table.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "cost/predict_time.h"
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

TEST(KernelTable, FindsEveryRowAndTheLastOneInsertedOfAKey) {
  KernelTable table;
  for (std::int64_t round : {1, 2})
    for (std::int64_t out = 1; out <= 200; ++out)
      table.insert(key(out), {{.algorithm = "direct", .time = SimTime{round * out}}});
  EXPECT_EQ(table.size(), 200u);
  for (std::int64_t out = 1; out <= 200; ++out)
    EXPECT_EQ(table.find(key(out))->front().time, SimTime{2 * out});
  EXPECT_EQ(table.find(key(201)), nullptr);
  EXPECT_EQ(table.rows_by_text().begin()->first, to_text(key(100)));  // by text
}

TEST(KernelTable, HashFollowsAlgorithmsLayoutsAndTimes) {
  KernelTable a, b;
  a.insert(key(1), {{.algorithm = "direct", .layouts = {Layout::plain}}});
  b.insert(key(1), {{.algorithm = "direct", .layouts = {Layout::plain}}});
  EXPECT_EQ(a.hash(), b.hash());
  b.insert(key(1), {{.algorithm = "direct", .layouts = {Layout::transposed}}});
  EXPECT_NE(a.hash(), b.hash());
  b.insert(key(1), {{.algorithm = "direct", .layouts = {Layout::plain}, .time = SimTime{1}}});
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

TEST(KernelTableJson, ReadsBackWhatItWrote) {
  KernelTable table;
  table.insert(key(1), {{.algorithm = "loop",
                         .layouts = {Layout::plain, Layout::transposed},
                         .flat = true,
                         .scratch = Bytes{64},
                         .in_place = {{1, 0}},
                         .time = SimTime{5}},
                        {.algorithm = "other", .layouts = {Layout::plain}}});
  CostFile file = parse_costs(to_json(table, "cpu"));
  EXPECT_EQ(file.device, "cpu");
  EXPECT_EQ(file.table.rows(), table.rows());
  EXPECT_EQ(file.table.hash(), table.hash());
}

TEST(KernelTableJson, LeavesOutRowsOfAnotherVersion) {
  KernelTable table;
  table.insert(key(1), {{.algorithm = "direct", .layouts = {Layout::plain}}});
  std::string json = to_json(table, "cpu");
  // Positions were once part of keys.
  json.insert(json.find("\"linear{"),
              "\"dropout{rate=0.1,origin=[4,0]} forward f32[4,3]\": [{\"algorithm\": \"loop\", "
              "\"layouts\": [\"plain\"], \"scratch\": 0}],");
  CostFile file = parse_costs(json);
  EXPECT_EQ(file.table.size(), 1u);
  EXPECT_NE(file.table.find(key(1)), nullptr);
}

TEST(KernelTableJson, RefusesWhatIsNoCostFile) {
  for (const char* text :
       {"", "[]", "{\"format\": \"troika costs 0\"}",
        "{\"format\": \"troika costs 2\", \"device\": \"d\", \"kernels\": {\"k\": [{}]}}",
        "{\"format\": \"troika costs 2\", \"device\": \"d\", \"kernels\": {\"k\": "
        "[{\"algorithm\": \"a\", \"scratch\": 0, \"layouts\": [\"sideways\"]}]}}"})
    EXPECT_THROW(parse_costs(text), Error) << text;
}

TEST(TakeTimes, WantsATimeForEveryCandidate) {
  std::vector<Candidate> known{{.algorithm = "a", .layouts = {Layout::plain}, .time = SimTime{5}}};
  KernelTable table;
  table.insert(key(1), known);
  std::vector<Candidate> same{{.algorithm = "a", .layouts = {Layout::plain}}}, more = same;
  EXPECT_TRUE(take_times(table, key(1), same));
  EXPECT_EQ(same[0].time, SimTime{5});
  more.push_back({.algorithm = "b", .layouts = {Layout::plain}});
  EXPECT_FALSE(take_times(table, key(1), more));
  EXPECT_FALSE(take_times(table, key(2), same));
}

TEST(Retime, GivesEachTaskTheRooflineOfItsDevice) {
  TaskGraph graph{.arena = {Bytes{}}};
  graph.tasks.push_back({.device = DeviceId(0u), .key = key(1000)});
  Machine machine{{{.flops_per_second = 1e9, .bytes_per_second = 1e18}}};
  EXPECT_EQ(retime(graph, machine).tasks[0].choice.time, SimTime{2 * 4 * 3 * 1000});
}

}  // namespace
}  // namespace troika
