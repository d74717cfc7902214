// Where a tile lies is an argument of its launch, so equal tiles on all devices have one key.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/error.h"
#include "lower/fuse.h"
#include "lower/testing/lowered.h"
#include "strategy/ready.h"
#include "taskgraph/verify.h"

namespace troika {
namespace {

// Two dropouts of one shape, the second with a residual sum behind it.
constexpr const char* kDropouts = R"(graph dropouts
input tokens i32[8]
input target i32[8]
input weight f32[8]
parameter embed.weight f32[12,4] uniform 0.5
parameter b.weight f32[12,4] uniform 0.5
operator embed embedding{vocabulary=12,width=4} (tokens) [embed.weight] -> e
operator first dropout{rate=0.25,stream=7} (e) [] -> d
operator relu activation{} (d) [] -> r
operator second dropout{rate=0.25,stream=9} (r) [] -> f
operator add binary{} (f d) [] -> s
operator b linear{out=12} (s) [b.weight] -> logits
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
output logits logits
loss loss_sum weight_sum
)";

struct Dropouts : Lowered {
  explicit Dropouts(const std::function<Strategy(const Graph&, const Machine&)>& make) {
    graph = parse_graph(kDropouts);
    machine.devices.resize(4);
    strategy = make(graph, machine);
    optimizer = {.rules = {{"embed.weight", Sgd{}}, {"b.weight", Sgd{}}}};
  }
};

/// Distinct keys of an operator's tasks, and their distinct positions.
struct Launches {
  std::set<std::string> keys;
  std::set<std::vector<std::int64_t>> positions;
};

/// By the name of the operator and the phase.
std::map<std::string, Launches> launches_of(const TaskGraph& graph) {
  std::map<std::string, Launches> all;
  for (const Task& task : graph.tasks) {
    if (!task.computes()) continue;
    Launches& launches = all[task.name.substr(0, task.name.find('/'))];
    launches.keys.insert(to_text(task.key));
    launches.positions.insert(task.position);
  }
  return all;
}

TEST(Positions, DataParallelTilesHaveOneKeyPerOperatorAndPhase) {
  std::map<std::string, Launches> all = launches_of(Dropouts(data_parallel).run());
  for (const char* name : {"embed forward", "first forward", "first backward_data", "relu forward",
                           "b forward", "loss forward", "loss backward_data"})
    EXPECT_EQ(all.at(name).keys.size(), 1u) << name;
  using Position = std::vector<std::int64_t>;
  EXPECT_EQ(all.at("first forward").positions,
            (std::set<Position>{{7, 0, 0}, {7, 2, 0}, {7, 4, 0}, {7, 6, 0}}));
  EXPECT_EQ(all.at("second forward").positions,
            (std::set<Position>{{9, 0, 0}, {9, 2, 0}, {9, 4, 0}, {9, 6, 0}}));
  // Both dropouts have the same work to do.
  EXPECT_EQ(all.at("first forward").keys, all.at("second forward").keys);
}

TEST(Positions, TilesOfAVocabularyHaveOneKey) {
  std::map<std::string, Launches> all = launches_of(Dropouts(tensor_parallel).run());
  using Position = std::vector<std::int64_t>;
  const std::set<Position> rows{{0}, {3}, {6}, {9}};
  for (const char* name :
       {"embed forward", "embed backward_weight", "loss statistics_2", "loss backward_data"}) {
    EXPECT_EQ(all.at(name).keys.size(), 1u) << name;
    EXPECT_EQ(all.at(name).positions, rows) << name;
  }
}

TEST(Positions, AFusedKernelTakesThoseOfItsOperatorsInTheirOrder) {
  Dropouts lowered(data_parallel);
  lowered.kernels.fuses = true;
  lowered.kernels.fused_time = SimTime{1};
  int chains = 0;
  for (const Task& task : lowered.run().tasks) {
    if (!task.computes() || task.key.fused.empty()) continue;
    EXPECT_EQ(task.position.size(), position_count(task.key)) << task.name;
    // The embedding and the dropout behind it.
    if (!task.name.starts_with("embed forward")) continue;
    EXPECT_EQ(task.position, (std::vector<std::int64_t>{0, 7, 2 * task.device.value, 0}));
    ++chains;
  }
  EXPECT_EQ(chains, 4);
}

/// The same of the tasks of one name, all of which assemble.
Launches assembled_in(const TaskGraph& graph, const std::string& name) {
  Launches launches;
  for (const Task& task : graph.tasks) {
    if (!task.computes() || task.name != name) continue;
    EXPECT_TRUE(std::holds_alternative<Assemble>(task.key.op)) << to_text(task.key);
    launches.keys.insert(to_text(task.key));
    launches.positions.insert(task.position);
  }
  return launches;
}

TEST(Positions, RowsThatDevicesCutOutOfTheirCopiesHaveOneKey) {
  Dropouts lowered(data_parallel);
  lowered.strategy.splits.at("relu").factors = {{"", 4}};  // all rows on every device
  Launches cuts = assembled_in(lowered.run(), "r copy");
  EXPECT_EQ(
      cuts.keys,
      (std::set<std::string>{"assemble{shape=[2,4],boxes=[2,4],layered=true} forward f32[8,4]"}));
  EXPECT_EQ(cuts.positions, (std::set<std::vector<std::int64_t>>{
                                {0, 0, 0, 0}, {2, 0, 0, 0}, {4, 0, 0, 0}, {6, 0, 0, 0}}));
}

TEST(Positions, AreVerified) {
  TaskGraph graph = Dropouts(data_parallel).run();
  verify(graph, Stage::placed);
  for (Task& task : graph.tasks)
    if (task.name == "first forward/1") task.position.clear();
  EXPECT_THROW(verify(graph, Stage::placed), Bug);
}

}  // namespace
}  // namespace troika
