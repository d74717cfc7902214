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

TEST(KernelRows, TellAnUnaskedKeyFromOneWithoutKernels) {
  KernelRows rows;
  EXPECT_EQ(rows.find(key(1)), nullptr);
  rows.insert(key(1), {});
  ASSERT_NE(rows.find(key(1)), nullptr);
  EXPECT_TRUE(rows.find(key(1))->empty());
}

TEST(KernelRows, FindEveryRowAndTheLastOneInsertedOfAKey) {
  KernelRows rows;
  for (std::int64_t round : {1, 2})
    for (std::int64_t out = 1; out <= 200; ++out)
      rows.insert(key(out), {{.algorithm = "direct", .time = SimTime{round * out}}});
  EXPECT_EQ(rows.size(), 200u);
  for (std::int64_t out = 1; out <= 200; ++out)
    EXPECT_EQ(rows.find(key(out))->front().time, SimTime{2 * out});
  EXPECT_EQ(rows.find(key(201)), nullptr);
  EXPECT_EQ(rows.rows_by_text().begin()->first, to_text(key(100)));  // by text
}

TEST(KernelTable, KeepsTheRowsOfKindsApart) {
  KernelTable table;
  table.insert({"fast", key(1)}, {{.algorithm = "direct", .time = SimTime{5}}});
  table.insert({"slow", key(1)}, {{.algorithm = "direct", .time = SimTime{50}}});
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(table.find("fast", key(1))->front().time, SimTime{5});
  EXPECT_EQ(table.find("slow", key(1))->front().time, SimTime{50});
  EXPECT_EQ(table.find("other", key(1)), nullptr);
}

TEST(KernelTable, EntersRowsThatAreAskedForIfItCanAnswerThem) {
  KernelTable table;
  table.insert({"cpu", key(1)}, {{.algorithm = "known"}});
  int asked = 0;
  table.answer_with([&](const KernelRequest& row) {
    ++asked;
    return std::vector<Candidate>{{.algorithm = row.kind}};
  });
  EXPECT_EQ(table.find("cpu", key(1))->front().algorithm, "known");
  EXPECT_EQ(table.find("gpu", key(2))->front().algorithm, "gpu");
  EXPECT_EQ(table.find("gpu", key(2))->front().algorithm, "gpu");
  EXPECT_EQ(asked, 1);
}

TEST(KernelTable, HashFollowsKindsAlgorithmsLayoutsAndTimes) {
  const KernelRequest row{"cpu", key(1)};
  KernelTable a, b, c;
  a.insert(row, {{.algorithm = "direct", .layouts = {Layout::plain}}});
  b.insert(row, {{.algorithm = "direct", .layouts = {Layout::plain}}});
  c.insert({"gpu", key(1)}, {{.algorithm = "direct", .layouts = {Layout::plain}}});
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_NE(a.hash(), c.hash());
  b.insert(row, {{.algorithm = "direct", .layouts = {Layout::transposed}}});
  EXPECT_NE(a.hash(), b.hash());
  b.insert(row, {{.algorithm = "direct", .layouts = {Layout::plain}, .time = SimTime{1}}});
  EXPECT_NE(a.hash(), b.hash());
}

TEST(KernelTableJson, NamesKindKeyAlgorithmAndLayouts) {
  KernelTable table;
  table.insert({"a cpu", key(1)},
               {{.algorithm = "direct", .layouts = {Layout::plain}, .time = SimTime{5}}});
  std::string json = to_json(table);
  for (const char* part : {"\"a cpu\"", "linear{out=1} forward f32[4,3]", "\"direct\"", "\"plain\"",
                           "\"nanoseconds\": 5"})
    EXPECT_NE(json.find(part), std::string::npos) << json;
}

TEST(KernelTableJson, ReadsBackTheRowsOfTwoKinds) {
  KernelTable table;
  table.insert({"cpu", key(1)}, {{.algorithm = "loop",
                                  .layouts = {Layout::plain, Layout::transposed},
                                  .flat = true,
                                  .scratch = Bytes{64},
                                  .in_place = {{1, 0}},
                                  .time = SimTime{5},
                                  .timing = Timing{{3}, 7, "2026-01-31T12:00:00Z", {4, 2}}},
                                 {.algorithm = "other", .layouts = {Layout::plain}}});
  table.of("cpu").made_by = "a processor, a build";
  table.of("cpu").memory_rates = {{1, 20e9}, {2, 12e9}};
  table.insert({"gpu", key(1)}, {{.algorithm = "tensor cores", .time = SimTime{1}}});
  table.insert({"gpu", key(2)}, {});
  table.of("gpu").add_checks({{"linear", {{"tensor cores", "y is off"}}}});
  KernelTable read = parse_costs(to_json(table));
  ASSERT_EQ(read.kinds().size(), 2u);
  for (const auto& [kind, rows] : table.kinds()) {
    EXPECT_EQ(read.of(kind).rows(), rows.rows()) << kind;
    EXPECT_EQ(read.of(kind).checks(), rows.checks()) << kind;
    EXPECT_EQ(read.of(kind).made_by, rows.made_by) << kind;
    EXPECT_EQ(read.of(kind).memory_rates, rows.memory_rates) << kind;
  }
  EXPECT_EQ(read.hash(), table.hash());
}

TEST(KernelTable, HashDoesNotFollowHowTimesWereMeasured) {
  KernelTable a, b;
  a.insert({"cpu", key(1)}, {{.algorithm = "a", .time = SimTime{5}}});
  b.insert({"cpu", key(1)}, {{.algorithm = "a", .time = SimTime{5}, .timing = Timing{{1}, 9}}});
  b.of("cpu").made_by = "another";
  EXPECT_EQ(a.hash(), b.hash());
}

TEST(KernelRows, ChangeMeasuredTimesToThoseAtAnotherOccupancy) {
  Timing alone{.repeats = 1}, crowded{.repeats = 1, .at = {4, 2}};
  KernelRows rows;
  rows.memory_rates = {{1, 1e9}, {2, 5e8}};
  std::int64_t bytes = bytes_of(key(1)).count;
  rows.insert(key(1), {{.algorithm = "a", .time = SimTime{bytes + 100}, .timing = alone},
                       {.algorithm = "by rule", .time = SimTime{7}}});
  KernelRows changed = reoccupied(rows, crowded.at);
  const std::vector<Candidate>& candidates = *changed.find(key(1));
  EXPECT_EQ(candidates[0].time, SimTime{2 * (2 * bytes + 100)});
  EXPECT_EQ(candidates[0].timing, crowded);
  EXPECT_EQ(candidates[1].time, SimTime{7});
  EXPECT_EQ(reoccupied(changed, alone.at).rows(), rows.rows());
}

TEST(KernelTableJson, ReadsAFileThatDoesNotSayHowTimesWereMeasured) {
  KernelTable table = parse_costs(R"({"format": "troika costs 3", "devices": {"cpu": {"kernels": {
      "linear{out=1} forward f32[4,3]": [
        {"algorithm": "direct", "layouts": ["plain"], "scratch": 0, "nanoseconds": 5}]}}}})");
  EXPECT_EQ(table.find("cpu", key(1))->front().time, SimTime{5});
  EXPECT_FALSE(table.find("cpu", key(1))->front().timing);
}

TEST(KernelTableJson, ReadsAFileOfOneKind) {
  // As earlier versions wrote it. Positions were once part of keys: such rows are left out.
  KernelTable table = parse_costs(R"({"format": "troika costs 2", "device": "cpu", "hash": "7",
    "kernels": {
      "linear{out=1} forward f32[4,3]": [
        {"algorithm": "direct", "layouts": ["plain"], "scratch": 0, "nanoseconds": 5}],
      "dropout{rate=0.1,origin=[4,0]} forward f32[4,3]": [
        {"algorithm": "loop", "layouts": ["plain"], "scratch": 0}],
      "assemble{shape=[2],boxes=[4,0,2]} forward f32[8]": [
        {"algorithm": "runs", "layouts": ["plain", "plain"], "scratch": 0}]},
    "checks": {"linear": {"direct plain": ""}}})");
  EXPECT_EQ(table.size(), 1u);
  ASSERT_NE(table.find("cpu", key(1)), nullptr);
  EXPECT_EQ(table.find("cpu", key(1))->front().time, SimTime{5});
  EXPECT_EQ(table.of("cpu").checks().size(), 1u);
}

TEST(KernelTableJson, RefusesWhatIsNoCostFile) {
  for (const char* text :
       {"", "[]", "{\"format\": \"troika costs 0\"}", "{\"format\": \"troika costs 3\"}",
        "{\"format\": \"troika costs 2\", \"device\": \"d\", \"kernels\": {\"k\": [{}]}}",
        "{\"format\": \"troika costs 3\", \"devices\": {\"d\": {\"kernels\": {\"k\": [{}]}}}}",
        "{\"format\": \"troika costs 2\", \"device\": \"d\", \"kernels\": {\"k\": "
        "[{\"algorithm\": \"a\", \"scratch\": 0, \"layouts\": [\"sideways\"]}]}}"})
    EXPECT_THROW(parse_costs(text), Error) << text;
}

TEST(TakeTimes, WantsATimeForEveryCandidate) {
  std::vector<Candidate> known{{.algorithm = "a", .layouts = {Layout::plain}, .time = SimTime{5}}};
  KernelRows rows;
  rows.insert(key(1), known);
  std::vector<Candidate> same{{.algorithm = "a", .layouts = {Layout::plain}}}, more = same;
  EXPECT_TRUE(take_times(rows, key(1), same));
  EXPECT_EQ(same[0].time, SimTime{5});
  more.push_back({.algorithm = "b", .layouts = {Layout::plain}});
  EXPECT_FALSE(take_times(rows, key(1), more));
  EXPECT_FALSE(take_times(rows, key(2), same));
}

TEST(Retime, GivesEachTaskTheRooflineOfItsDevice) {
  TaskGraph graph{.arena = {Bytes{}}};
  graph.tasks.push_back({.device = DeviceId(0u), .key = key(1000)});
  Machine machine{{{.flops_per_second = 1e9, .bytes_per_second = 1e18}}};
  EXPECT_EQ(retime(graph, machine).tasks[0].choice.time, SimTime{2 * 4 * 3 * 1000});
}

}  // namespace
}  // namespace troika
