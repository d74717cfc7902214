// One device stands for all that do the same: the classes are those of the task graph of all
// devices, each device does what its class is said to do, and at the same times.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/testing/test_effort.h"
#include "lower/planner.h"
#include "lower/testing/contended_machines.h"
#include "lower/testing/graph_facts.h"
#include "lower/testing/lowered.h"
#include "machine/cluster.h"
#include "machine/link_tree.h"
#include "sim/loop_body.h"
#include "sim/loop_period.h"
#include "sim/simulate.h"
#include "strategy/ready.h"
#include "strategy/testing/random_strategy.h"
#include "strategy/testing/tensor_in_nodes.h"
#include "strategy/tiles.h"
#include "zoo/testing/small_models.h"
#include "zoo_grid.h"

namespace troika {
namespace {

struct FoldingCase {
  Machine machine{};
  bool clips = false, slices = false, two_kernels = false;
};

struct FoldedModel : Lowered {
  FoldedModel(const FoldingCase& asked, const Graph& built) {
    graph = built;
    machine = asked.machine;
    optimizer.rules.clear();
    for (const Parameter& parameter : graph.parameters)
      if (parameter.trained && !parameter.state)
        optimizer.rules.emplace(parameter.name, Sgd{.momentum = 0.9});
    if (asked.clips) optimizer.clip_norm = 1;
    slices = asked.slices;
    kernels.fuses = kernels.two_kernels = asked.two_kernels;
  }

  void set(Strategy wanted) {
    strategy = std::move(wanted);
    strategy.sync.sliced_update = slices;
  }

  LowerRequest training() {
    LowerRequest request = Lowered::request();
    request.outputs.clear();
    return request;
  }

  TaskGraph lower_all() {
    LowerRequest request = training();
    table = kernels.answer(rows_needed(request));
    LowerResult result = lower(request, table);
    while (auto* missing = std::get_if<MissingRows>(&result)) {
      table = kernels.answer(missing->rows, table);
      result = lower(request, table);
    }
    return std::get<TaskGraph>(std::move(result));
  }

  KernelTable table;
  bool slices = false;
};

enum class Wanted {
  equal,
  not_coarser,
  times,  ///< Whatever the classes.
};

void expect_classes(const FoldedModel& model, const Classes& found, const TaskGraph& graph,
                    Wanted wanted) {
  if (wanted == Wanted::times) return;
  RefinementFacts facts = facts_of(model.machine, graph);
  Classes defined = refine_naively(model.machine, facts);
  for (std::size_t device = 0; device < found.of_device.size(); ++device) {
    auto first = as_index(found.first[as_index(found.of_device[device])]);
    EXPECT_EQ(defined.of_device[device], defined.of_device[first])
        << "devices " << device << " and " << first << " are folded\n"
        << first_difference(facts, first, device);
  }
  if (wanted == Wanted::equal) {
    EXPECT_EQ(found.count(), defined.count()) << fmt::format(
        "{}\n{}", fmt::join(found.of_device, " "), fmt::join(defined.of_device, " "));
  }
}

/// The tasks of a graph that a device has, in the order in which it runs them.
std::vector<std::size_t> tasks_of(const TaskGraph& graph, std::size_t device) {
  std::vector<std::size_t> tasks;
  for (std::size_t at : loop_order(graph))
    if (graph.tasks[at].device.index() == device) tasks.push_back(at);
  return tasks;
}

IdFields on_device(PackedId id, std::size_t device) {
  IdFields fields = unpack(id);
  fields.device = static_cast<std::uint32_t>(device);
  return fields;
}

/// Unfolds the graph device by device, and the times of its tasks.
void expect_same_tasks(const FoldedGraph& folded, const TaskGraph& graph) {
  SteadyLoop one = simulate_loop(folded), all = simulate_loop(graph);
  EXPECT_EQ(one.period, all.period);
  std::vector<std::size_t> first_span{0};
  for (const std::vector<FoldedTask>& tasks : folded.tasks)
    first_span.push_back(first_span.back() + tasks.size());
  std::map<CommunicationId, FoldedCall> calls;
  for (std::size_t device = 0; device < folded.classes.of_device.size(); ++device) {
    auto own = as_index(folded.classes.of_device[device]);
    std::vector<std::size_t> tasks = tasks_of(graph, device);
    ASSERT_EQ(folded.tasks[own].size(), tasks.size()) << "device " << device;
    for (std::size_t at = 0; at < tasks.size(); ++at) {
      const FoldedTask& expected = folded.tasks[own][at];
      const Task& task = graph.tasks[tasks[at]];
      ASSERT_EQ(task_id(pack(on_device(expected.id, device))), task.id) << task.name;
      ASSERT_EQ(expected.turn, task.turn) << task.name;
      ASSERT_EQ(std::tuple(expected.lag, expected.kind), std::tuple(task.lag, task.kind));
      const Span &span = one.pass.spans[first_span[own] + at], &other = all.pass.spans[tasks[at]];
      ASSERT_EQ(std::pair(span.start, span.end), std::pair(other.start, other.end)) << task.name;
      if (task.computes()) {
        ASSERT_EQ(expected.time, task.choice.time) << task.name;
        continue;
      }
      auto [known, is_new] = calls.try_emplace(task.communication, expected.call);
      ASSERT_EQ(known->second, expected.call) << task.name;
      if (task.kind == TaskKind::start) continue;
      ASSERT_EQ(expected.time, graph[task.communication].time) << task.name;
      ASSERT_EQ(expected.urgency, graph[task.communication].urgency) << task.name;
    }
  }
}

/// The period if no message had to wait for another.
SimTime period_without_waiting(const FoldedGraph& graph) {
  LoopBody body = loop_body(graph);
  for (MessagePhase& phase : body.phases) {
    SimTime longest{};
    for (std::int32_t at = phase.first_load; at < phase.first_load + phase.loads; ++at)
      longest = std::max(longest, body.loads[as_index(at)].time);
    phase.latency += longest;
    phase.loads = 0;
  }
  return find_period(body).time;
}

/// Returns the folded graph.
FoldedGraph expect_folds(FoldedModel& model, const std::string& what, Wanted wanted) {
  SCOPED_TRACE(what);
  TaskGraph graph = model.lower_all();
  Planner planner(model.training(), model.table);
  EXPECT_FALSE(planner.plan().has_value());
  expect_classes(model, planner.graph().classes, graph, wanted);
  expect_same_tasks(planner.graph(), graph);
  return planner.graph();
}

std::vector<Machine> machines(std::size_t devices) {
  std::vector<Machine> all(1);
  all[0].devices.resize(devices);
  auto count = static_cast<std::int64_t>(devices);
  // A process for each device, and one for each node, of which one is slower.
  for (std::int64_t ranks : {count / 2, std::int64_t{1}})
    all.push_back(make_machine({.nodes = {{.count = 2, .devices = count / 2, .ranks = ranks}}}));
  for (std::size_t device = devices / 2; device < devices; ++device)
    all.back().devices[device].slowdown = 1.25;
  return all;
}

Graph small_graph(const std::string& name, std::int64_t batch) {
  zoo::ModelRequest asked = zoo::small_request(name);
  asked.samples.batch = batch;
  return zoo::build(asked).train();
}

void expect_ready_plans_fold(const std::string& name, const Graph& graph,
                             const FoldingCase& asked) {
  for (std::string_view ready : ready_names()) {
    FoldedModel model(asked, graph);
    model.set(ready_strategy(ready, model.graph, model.machine));
    if (why_infeasible(model.strategy, model.graph, model.machine)) continue;
    expect_folds(model,
                 fmt::format("{} {} on {} of {} nodes", name, ready, model.machine.devices.size(),
                             node_count(model.machine)),
                 Wanted::equal);
  }
}

class FoldedReadyPlans : public testing::TestWithParam<ZooCase> {};

TEST_P(FoldedReadyPlans, AreExact) {
  std::uint64_t turn = GetParam().number;  // by which cases are left out
  for (std::int64_t batch : {16, 17}) {
    Graph graph = small_graph(GetParam().model, batch);
    for (const Machine& machine : machines(GetParam().devices)) {
      if (!full_grid() && turn++ % 4 != 0) continue;
      // A batch that does not fit, clipping and slices, all in one.
      expect_ready_plans_fold(GetParam().model, graph, {machine, batch == 17, batch == 17});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, FoldedReadyPlans,
                         testing::ValuesIn(zoo_grid({8}, {2, 4, 8, 16, 64})), zoo_case_name);

/// Sixteen devices in two nodes, inside which the model is split.
FoldedModel model_in_nodes(const Graph& graph) {
  FoldedModel model({make_machine({.nodes = {{.count = 2, .devices = 8, .ranks = 8}}})}, graph);
  model.set(tensor_in_nodes(model.graph, model.machine, 8));
  return model;
}

// Their channels do not divide evenly, so that devices have parts of different sizes.
TEST(Folding, OfSmallModelsSplitInNodesIsExact) {
  for (const char* name : {"inception_v3", "nmt", "resnet50", "gpt2"}) {
    FoldedModel model = model_in_nodes(small_graph(name, 16));
    expect_folds(model, name, Wanted::equal);
  }
}

// Every device puts tensors together from its own part and those of the others: the places of the
// parts differ, but nothing else does.
TEST(Folding, OfEvenlySplitNodesHasOneClass) {
  for (const char* name : {"inception_v3", "nmt", "resnet50"}) {
    zoo::ModelRequest asked{.name = name};
    asked.samples.batch = 16;
    FoldedModel model = model_in_nodes(zoo::build(asked).train());
    expect_folds(model, name, Wanted::equal);
    Planner planner(model.training(), model.table);
    ASSERT_FALSE(planner.plan().has_value());
    EXPECT_EQ(planner.graph().classes.count(), 1) << name;
  }
}

/// Devices of one kind, whose times are not measured, so that they follow from different rates.
struct RatedModel : FoldedModel {
  explicit RatedModel(const std::string& name)
      : FoldedModel({.machine = machines(4)[0]}, small_graph(name, 8)) {
    for (std::size_t device = 0; device < 4; ++device) {
      machine.devices[device].flops_per_second = device % 2 == 0 ? 1e7 : 3e7;
      machine.devices[device].bytes_per_second = device < 2 ? 1e7 : 5e6;
    }
    kernels.measured = false;
  }

  void plan(Planner& planner) {
    while (std::optional<PlanRefusal> refusal = planner.plan())
      table = kernels.answer(std::get<MissingRows>(*refusal).rows, table);
  }
};

TEST(FoldedRates, TellDevicesOfOneKindApart) {
  for (const char* name : {"lenet", "gpt2"}) {
    RatedModel model(name);
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      model.set(seed == 0 ? data_parallel(model.graph, model.machine)
                          : random_view_strategy(model.graph, model.machine, seed));
      expect_folds(model, fmt::format("{} seed {}", name, seed), Wanted::not_coarser);
      for (const Task& task : model.lower_all().tasks) {
        if (!task.computes()) continue;
        SimTime time =
            roofline_time(model.machine[task.device], flops_of(task.key), bytes_of(task.key));
        ASSERT_EQ(task.choice.time, time) << task.name;
      }
    }
  }
}

/// Times do not depend on which device had a task first.
TEST(FoldedRates, AreThoseFromScratchAfterAChange) {
  RatedModel model("lenet");
  Strategy all = data_parallel(model.graph, model.machine);
  std::vector<SplitChange> changes;
  for (std::size_t op = 0; op < model.graph.operators.size(); ++op) {
    const std::string& name = model.graph.operators[op].name;
    changes.push_back({static_cast<std::int32_t>(op), split_of(all, name)});
    Split upper = split_of(all, name);
    for (Factor& factor : upper.factors) factor.degree = std::min<std::int64_t>(factor.degree, 2);
    upper.first = 2;
    model.strategy.splits[name] = upper;
  }
  Planner planner(model.training(), model.table);
  model.plan(planner);
  while (std::optional<PlanRefusal> refusal = planner.change(changes)) {
    model.table = model.kernels.answer(std::get<MissingRows>(*refusal).rows, model.table);
    model.plan(planner);
  }
  model.set(all);
  Planner fresh(model.training(), model.table);
  ASSERT_FALSE(fresh.plan().has_value());
  EXPECT_EQ(planner.graph(), fresh.graph());
}

class FoldedRandomPlans : public testing::TestWithParam<ZooCase> {};

TEST_P(FoldedRandomPlans, AreRight) {
  const auto& [name, number, devices] = GetParam();
  Graph graph = small_graph(name, 8);
  std::uint64_t views = full_grid() ? 40 : 1, placements = full_grid() ? 10 : 1;
  for (std::uint64_t seed = 0; seed < views + placements; ++seed) {
    bool is_view = seed < views;
    FoldedModel model({machines(devices)[seed % 3], seed % 5 == 0, seed % 5 == 1}, graph);
    auto make = is_view ? random_view_strategy : random_strategy;
    model.set(make(model.graph, model.machine, devices * 100 + seed));
    expect_folds(model, fmt::format("{} {}", is_view ? "view" : "placement", seed),
                 Wanted::not_coarser);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, FoldedRandomPlans,
                         testing::ValuesIn(zoo_grid({4}, {2, 4, 8, 16, 64})), zoo_case_name);

class FoldedLayouts : public testing::TestWithParam<ZooCase> {};

TEST_P(FoldedLayouts, AreRightWhereKernelsWantOtherLayouts) {
  const auto& [name, number, devices] = GetParam();
  Graph graph = small_graph(name, 8);
  std::uint64_t seeds = full_grid() ? 40 : 1;
  for (std::uint64_t seed = number * seeds; seed < (number + 1) * seeds; ++seed) {
    FoldedModel model({machines(devices)[seed % 3], seed % 5 == 0, seed % 5 == 1, true}, graph);
    auto make = seed % 4 < 2 ? random_view_strategy : random_strategy;
    model.set(make(model.graph, model.machine, seed));
    expect_folds(model, fmt::format("seed {}", seed), Wanted::not_coarser);
  }
}

std::vector<ZooCase> layout_cases() {
  std::vector<ZooCase> cases = zoo_grid({4}, {4});
  if (!full_grid()) std::erase_if(cases, [](const ZooCase& each) { return each.number % 2 != 0; });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Zoo, FoldedLayouts, testing::ValuesIn(layout_cases()), zoo_case_name);

/// Turns of a model on so many devices, of which each has a seed of its own.
const std::uint64_t kTurns = full_grid() ? 10 : 1;

/// Plans of small models where cards, uplinks and slow links are shared. Counts the plans in which
/// messages wait for each other.
struct ContentionCount {
  int plans = 0, waiting = 0;
};

void expect_contended_plans_fold(const std::string& name, std::size_t devices, std::uint64_t seed,
                                 ContentionCount& count) {
  Graph graph = small_graph(name, 8 + static_cast<std::int64_t>(seed % 2));
  std::size_t number = 0;
  for (const Machine& machine : contended_machines(devices)) {
    FoldedModel model({machine, seed % 3 == 0, seed % 3 == 1}, graph);
    std::vector<Strategy> strategies{random_view_strategy(graph, machine, seed),
                                     random_strategy(graph, machine, seed)};
    // Only with the first seeds: the others would be the same but for clipping and slices.
    for (std::string_view ready : ready_names())
      if (seed % kTurns < 2) strategies.push_back(ready_strategy(ready, graph, machine));
    for (Strategy& strategy : strategies) {
      if (!full_grid() && (number++ + seed) % 4 != 0) continue;
      model.set(std::move(strategy));
      if (why_infeasible(model.strategy, model.graph, model.machine)) continue;
      // On a ring of links the definition tells more devices apart; their times are equal all the
      // same.
      FoldedGraph folded = expect_folds(
          model, fmt::format("{} on {}, seed {}, case {}", name, devices, seed, number),
          find_link_tree(machine) ? Wanted::not_coarser : Wanted::times);
      ++count.plans;
      count.waiting += simulate_loop(folded).period > period_without_waiting(folded);
    }
  }
}

class FoldedContention : public testing::TestWithParam<ZooCase> {};

TEST_P(FoldedContention, IsExactWhereMessagesShareLinks) {
  const auto& [name, number, devices] = GetParam();
  ContentionCount count;
  for (std::uint64_t turn = 0; turn < kTurns; ++turn)
    expect_contended_plans_fold(name, devices, number * kTurns + turn, count);
  EXPECT_GT(count.waiting, count.plans / 3) << "of " << count.plans;
}

/// Few models, but of every kind: convolutions, recurrences, attention.
std::vector<ZooCase> contended_cases() {
  std::vector<ZooCase> cases = zoo_grid({8}, {4, 8, 16, 32});
  if (!full_grid())
    std::erase_if(cases, [](const ZooCase& each) {
      return each.model != "alexnet" && each.model != "nmt" && each.model != "gpt2";
    });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Zoo, FoldedContention, testing::ValuesIn(contended_cases()), zoo_case_name);

}  // namespace
}  // namespace troika
