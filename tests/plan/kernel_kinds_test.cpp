// Kernels are chosen for the first tile of each kind and run on all of them.
#include <gtest/gtest.h>

#include "lower/cut_request.h"
#include "lower/kernel_units.h"
#include "strategy/ready.h"
#include "strategy/testing/random_strategy.h"
#include "zoo/testing/small_models.h"

namespace troika {
namespace {

/// Tiles of one kind must have one key: the kernel that is chosen for the first runs them all.
void expect_one_key_per_kind(const Graph& model, const Machine& machine, const Strategy& strategy) {
  LowerRequest of_model{.graph = &model, .strategy = &strategy, .machine = &machine};
  for (const NamedTensor& output : model.outputs) of_model.outputs.push_back(output.name);
  CutRequest cut(of_model);
  const LowerRequest& request = cut.request;
  const Graph& graph = *request.graph;
  PlanTables tables(graph, machine);
  Distribution distribution = distribute(request, tables);
  std::vector<UpdatePlan> updates;
  UnitRequest units{request, tables, distribution, updates};
  for (std::size_t job = 0; job < distribution.jobs.size(); ++job) {
    TileSetId set = distribution.jobs[job].set;
    KindsId kinds = distribution.joined_kinds[as_index(set)];
    std::vector<KernelKey> first;
    for (std::int32_t tile : distribution.kinds_of(set).first)
      first.push_back(key_of(units, job, tile));
    for (std::int32_t tile = 0; tile < tables.tiles.set(set).count(); ++tile) {
      std::size_t kind = as_index(tables.tiles.kind(kinds, tile));
      ASSERT_EQ(key_of(units, job, tile), first.at(kind))
          << graph.operators[as_index(distribution.outline.jobs[job].op)].name << " " << tile;
    }
  }
}

TEST(KernelUnits, TilesOfOneKindHaveOneKey) {
  for (const zoo::Entry& entry : zoo::entries()) {
    zoo::ModelRequest asked = zoo::small_request(entry.name);
    asked.samples.batch = 6;  // which four devices do not divide
    for (const zoo::NamedGraph& named : zoo::build(asked).graphs) {
      const Graph& graph = named.graph;
      Machine machine;
      machine.devices.resize(4);
      for (std::string_view plan : ready_names())
        expect_one_key_per_kind(graph, machine, ready_strategy(plan, graph, machine));
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        expect_one_key_per_kind(graph, machine, random_strategy(graph, machine, seed));
        expect_one_key_per_kind(graph, machine, random_view_strategy(graph, machine, seed));
      }
    }
  }
}

}  // namespace
}  // namespace troika
