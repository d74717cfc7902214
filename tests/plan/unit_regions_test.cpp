// Kernels and layouts are decided region by region, in any order, with kernels of all sorts.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "lower/cut_request.h"
#include "lower/fuse.h"
#include "lower/kernel_units.h"
#include "lower/program_plan.h"
#include "strategy/ready.h"
#include "strategy/testing/random_strategy.h"
#include "zoo/testing/small_models.h"

namespace troika {
namespace {

/// Several kernels for each key, drawn by its hash: one of them plain, the others in layouts that
/// fit. Half of the chains have no fused kernel, others none that is plain.
std::vector<Candidate> drawn_kernels(const KernelKey& key) {
  std::mt19937_64 random(hash(key));
  std::vector<Operand> operands = operands_of(key);
  if (!key.fused.empty() && random() % 2 == 0) return {};
  bool flat = key.phase == Phase::update || std::holds_alternative<Activation>(key.op) ||
              std::holds_alternative<Sum>(key.op);
  std::vector<Candidate> row;
  for (std::uint64_t at = key.fused.empty() ? 0 : random() % 2; at < 3; ++at) {
    Candidate& made = row.emplace_back(Candidate{
        .algorithm = "drawn", .time = SimTime{static_cast<std::int64_t>(100 + random() % 900)}});
    for (const Operand& operand : operands) {
      constexpr std::array kDrawn{Layout::plain, Layout::channels_last, Layout::blocked16};
      Layout layout = kDrawn[random() % kDrawn.size()];
      bool fitting = at > 0 && !flat && fits(layout, operand.spec.shape);
      made.layouts.push_back(fitting ? layout : Layout::plain);
    }
    made.flat = flat && key.fused.empty();
  }
  return row;
}

/// A training program of a model of the zoo under a strategy.
struct Program {
  Program(const Graph& graph, const Machine& machine, const Strategy& strategy)
      : optimizer(rules_of(graph)),
        cut({.graph = &graph, .strategy = &strategy, .machine = &machine, .optimizer = &optimizer}),
        tables(*cut.request.graph, machine),
        distribution(distribute(cut.request, tables)),
        updates(plan_updates(cut.request, distribution, tables)),
        regions(find_regions(tables.index)) {
    for (const KernelRequest& row : rows_of(units(), regions))
      table.insert(row, drawn_kernels(row.key));
  }

  static OptimizerSpec rules_of(const Graph& graph) {
    OptimizerSpec made;
    for (const Parameter& parameter : graph.parameters)
      if (parameter.trained && !parameter.state)
        made.rules.emplace(parameter.name, Sgd{.momentum = 0.9});
    return made;
  }

  UnitRequest units() const { return {cut.request, tables, distribution, updates}; }

  OptimizerSpec optimizer;
  CutRequest cut;
  PlanTables tables;
  Distribution distribution;
  std::vector<UpdatePlan> updates;
  UnitRegions regions;
  KernelTable table;
};

/// All of them twice, in an order of its own each time, borders before regions.
KernelUnits decide_in_random_order(const Program& program, std::mt19937_64& random) {
  UnitChooser chooser(program.units(), program.regions, program.table);
  KernelUnits made = chooser.undecided();
  std::vector<std::size_t> borders(program.regions.borders.size());
  std::vector<std::size_t> regions(program.regions.regions.size());
  std::iota(borders.begin(), borders.end(), 0);
  std::iota(regions.begin(), regions.end(), 0);
  for (int time : {0, 1}) {
    std::ranges::shuffle(borders, random);
    std::ranges::shuffle(regions, random);
    for (std::size_t border : borders) EXPECT_TRUE(chooser.decide_border(border, made)) << time;
    for (std::size_t region : regions) EXPECT_TRUE(chooser.decide_region(region, made)) << time;
  }
  return made;
}

/// Every writer of a value leaves it as its border says.
void expect_borders_kept(const Program& program, const KernelUnits& units) {
  const Outline& outline = program.distribution.outline;
  for (std::size_t job = 0; job < outline.jobs.size(); ++job) {
    for (const KernelUnit& unit : units.jobs[job]) {
      for (std::size_t at = 0; at < unit.operands.size(); ++at) {
        auto [of_job, use] = unit.operands[at];
        const Job& own = outline.jobs[as_index(of_job)];
        if (own.phase->uses[as_index(use)].access != Access::write) continue;
        const std::vector<Layout>& border = units.borders[as_index(own.values[as_index(use)])];
        auto writer = as_index(program.distribution.jobs[as_index(of_job)].roles[as_index(use)]);
        if (!border.empty()) {
          ASSERT_EQ(unit.choice.layouts[at], border[writer]);
        }
      }
    }
  }
}

std::vector<Strategy> drawn_strategies(const Graph& graph, const Machine& machine) {
  std::vector<Strategy> all;
  for (std::string_view plan : ready_names()) all.push_back(ready_strategy(plan, graph, machine));
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    all.push_back(random_strategy(graph, machine, seed));
    all.push_back(random_view_strategy(graph, machine, seed));
  }
  return all;
}

template <class Check>
void for_each_graph(Check&& check) {
  for (const zoo::Entry& entry : zoo::entries()) {
    zoo::ModelRequest asked = zoo::small_request(entry.name);
    asked.samples.batch = 4;
    for (const zoo::NamedGraph& named : zoo::build(asked).graphs) {
      SCOPED_TRACE(entry.name);
      check(named.graph);
    }
  }
}

TEST(UnitRegions, AnyOrderOfDecidingGivesTheSame) {
  std::mt19937_64 random(1);
  for_each_graph([&](const Graph& graph) {
    Machine machine;
    machine.devices.resize(4);
    for (const Strategy& strategy : drawn_strategies(graph, machine)) {
      Program program(graph, machine, strategy);
      std::optional<KernelUnits> units =
          choose_units(program.units(), program.regions, program.table);
      ASSERT_TRUE(units.has_value());
      EXPECT_TRUE(*units == decide_in_random_order(program, random));
      expect_borders_kept(program, *units);
    }
  });
}

TEST(UnitRegions, EveryOperatorIsInOneRegionOfBoundedSize) {
  for_each_graph([](const Graph& graph) {
    UnitRegions found = find_regions(IndexedGraph(graph));
    std::int32_t next = 0;
    for (std::size_t at = 0; at < found.regions.size(); ++at) {
      EXPECT_LE(found.regions[at].operators.size(), 20u);
      for (std::int32_t op : found.regions[at].operators) {
        EXPECT_EQ(op, next++);
        EXPECT_EQ(found.of[as_index(op)], static_cast<std::int32_t>(at));
      }
    }
    EXPECT_EQ(next, std::ssize(graph.operators));
  });
}

TEST(UnitRegions, ABorderIsWhateverOperatorsOfSeveralRegionsUse) {
  for_each_graph([](const Graph& graph) {
    UnitRegions found = find_regions(IndexedGraph(graph));
    std::vector<std::set<std::int32_t>> tensors(graph.tensors.size());
    std::vector<std::set<std::int32_t>> parameters(graph.parameters.size());
    for (std::size_t at = 0; at < graph.operators.size(); ++at) {
      const Operator& op = graph.operators[at];
      for (TensorId id : op.outputs) tensors[id.index()].insert(found.of[at]);
      for (TensorId id : op.inputs)
        if (graph[id].producer.valid()) tensors[id.index()].insert(found.of[at]);
      for (ParameterId id : op.parameters) parameters[id.index()].insert(found.of[at]);
    }
    auto several = [](const std::vector<std::set<std::int32_t>>& all) {
      return std::ranges::count_if(all, [](const auto& regions) { return regions.size() > 1; });
    };
    std::set<std::int32_t> of_tensors, of_parameters;
    for (const RegionBorder& border : found.borders) {
      of_tensors.insert(border.tensors.begin(), border.tensors.end());
      of_parameters.insert(border.parameters.begin(), border.parameters.end());
      for (std::int32_t tensor : border.tensors) EXPECT_GT(tensors[as_index(tensor)].size(), 1u);
      for (std::int32_t parameter : border.parameters)
        EXPECT_GT(parameters[as_index(parameter)].size(), 1u);
    }
    EXPECT_EQ(std::ssize(of_tensors), several(tensors));
    EXPECT_EQ(std::ssize(of_parameters), several(parameters));
  });
}

/// What might be fused is in one region, so regions lose no chain.
TEST(UnitRegions, NoChainIsCut) {
  for_each_graph([](const Graph& graph) {
    UnitRegions found = find_regions(IndexedGraph(graph));
    std::vector<std::vector<std::size_t>> readers(graph.tensors.size());
    for (std::size_t at = 0; at < graph.operators.size(); ++at)
      for (TensorId input : graph.operators[at].inputs) readers[input.index()].push_back(at);
    for (std::size_t at = 0; at < readers.size(); ++at) {
      OperatorId producer = graph.tensors[at].producer;
      if (!producer.valid() || readers[at].size() != 1) continue;
      if (can_follow(graph.operators[readers[at][0]].op)) {
        EXPECT_EQ(found.of[producer.index()], found.of[readers[at][0]]) << graph.tensors[at].name;
      }
    }
  });
}

}  // namespace
}  // namespace troika
