// A plan that was changed operator by operator is the plan that is made from scratch, task by task,
// and what does not depend on a change stays as it is.
#include "lower/planner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "base/testing/test_effort.h"
#include "lower/testing/lowered.h"
#include "lower/testing/plan_difference.h"
#include "strategy/ready.h"
#include "strategy/split_check.h"
#include "strategy/testing/random_strategy.h"
#include "strategy/tiles.h"
#include "zoo/testing/small_models.h"

namespace troika {
namespace {

struct ChangeCase {
  std::string model;
  std::size_t devices = 4;
  std::uint64_t seed = 0;
  int changes = 6;
  bool clips = false, slices = false, norms = false;
  std::int64_t micro_batches = 1;
};

/// A task of one device, without what names its class.
using Unfolded = std::tuple<Turn, PackedId, std::int64_t, std::int16_t, TaskKind>;

/// The tasks of operators, by device and operator.
std::map<std::pair<std::size_t, std::uint32_t>, std::vector<Unfolded>> unfold(
    const FoldedGraph& graph) {
  std::map<std::pair<std::size_t, std::uint32_t>, std::vector<Unfolded>> unfolded;
  for (std::size_t device = 0; device < graph.classes.of_device.size(); ++device) {
    for (const FoldedTask& task : graph.tasks[as_index(graph.classes.of_device[device])]) {
      IdFields id = unpack(task.id);
      if (id.subject != Subject::operation) continue;
      id.device = static_cast<std::uint32_t>(device);
      unfolded[{device, id.number}].emplace_back(task.turn, pack(id), task.time.count, task.lag,
                                                 task.kind);
    }
  }
  return unfolded;
}

class ChangedPlans {
 public:
  explicit ChangedPlans(const ChangeCase& asked) : asked_(asked) {
    zoo::ModelRequest request = zoo::small_request(asked.model);
    request.samples.batch = 8;
    request.samples.shards = asked.micro_batches;  // a micro-batch must have whole ones
    model_.graph = zoo::build(request).train();
    model_.machine.devices.assign(asked.devices, {.name = "cpu"});
    model_.kernels.fuses = true;
    model_.kernels.fused_time = SimTime{500};
    model_.strategy = drawn(random_view_strategy, asked.seed);
    model_.strategy.micro_batches = asked.micro_batches;
    model_.strategy.sync.sliced_update = asked.slices;
    set_rules();
    request_ = model_.request();
    request_.outputs.clear();
    planner_.emplace(request_, table_);
    while (std::optional<PlanRefusal> refusal = planner_->plan()) add_rows(*refusal);
  }

  /// Gives one operator, or a run of a few, the splits of another strategy. Checks everything.
  void change(int number) {
    RandomStream draws{.key = asked_.seed, .stream = static_cast<std::uint64_t>(number)};
    Strategy other =
        drawn(number % 2 == 0 ? random_view_strategy : random_strategy, draws.below(0, 1 << 20));
    std::uint64_t count = draws.below(1, 2) == 0 ? 1 : 2 + draws.below(2, 4);
    std::uint64_t first = draws.below(3, model_.graph.operators.size());
    std::vector<SplitChange> changes;
    for (std::uint64_t at = first; at < std::min(first + count, model_.graph.operators.size());
         ++at)
      changes.push_back(
          {static_cast<std::int32_t>(at), split_of(other, model_.graph.operators[at].name)});
    SCOPED_TRACE(fmt::format("{} seed {} change {}, operators {} to {}", asked_.model, asked_.seed,
                             number, first, first + changes.size() - 1));
    FoldedGraph before = planner_->graph();
    std::optional<PlanRefusal> refusal = planner_->change(changes);
    while (refusal && std::holds_alternative<MissingRows>(*refusal)) {
      EXPECT_EQ(planner_->graph(), before) << "after a refusal";
      add_rows(*refusal);
      refusal = planner_->change(changes);
    }
    if (refusal) {
      EXPECT_EQ(planner_->graph(), before) << "after a refusal";
      return;
    }
    ++made_;
    expect_from_scratch();
    expect_rest_stays(before, changes);
    if (number % 3 != 0) return;
    planner_->undo();
    EXPECT_EQ(planner_->graph(), before) << "undone";
    expect_from_scratch();
  }

  int made() const { return made_; }

 private:
  using Draw = Strategy (*)(const Graph&, const Machine&, std::uint64_t);

  /// Splits that were drawn for other micro-batches may not fit.
  Strategy drawn(Draw draw, std::uint64_t seed) const {
    Strategy strategy = draw(model_.graph, model_.machine, seed);
    IndexedGraph index(model_.graph);
    SplitTerms terms{static_cast<std::int64_t>(asked_.devices), asked_.micro_batches};
    std::erase_if(strategy.splits, [&](const auto& named) {
      std::size_t op = index.operators.at(named.first);
      return why_split_infeasible({&model_.graph.operators[op], &index.signatures[op]},
                                  named.second, terms)
          .has_value();
    });
    return strategy;
  }

  void set_rules() {
    model_.optimizer.rules.clear();
    for (const Parameter& parameter : model_.graph.parameters)
      if (parameter.trained && !parameter.state)
        model_.optimizer.rules.emplace(parameter.name,
                                       asked_.norms ? Op{Lamb{}} : Op{Sgd{.momentum = 0.9}});
    if (asked_.clips) model_.optimizer.clip_norm = 1;
  }

  void add_rows(const PlanRefusal& refusal) {
    const auto* missing = std::get_if<MissingRows>(&refusal);
    ASSERT_NE(missing, nullptr) << std::get<Infeasible>(refusal).reason;
    table_ = model_.kernels.answer(missing->rows, table_);
  }

  void expect_from_scratch() {
    LowerRequest request = request_;
    Strategy strategy = planner_->strategy();
    request.strategy = &strategy;
    Planner fresh(request, table_);
    ASSERT_FALSE(fresh.plan().has_value());
    EXPECT_EQ(first_difference(planner_->program(), fresh.program()), "");
    EXPECT_EQ(planner_->graph(), fresh.graph());
  }

  /// Operators that are neither near a changed one nor decided together with one of these.
  std::set<std::uint32_t> far_from(const std::vector<SplitChange>& changes) const {
    const UnitRegions& regions = planner_->program().tables.regions;
    std::set<std::int32_t> near;
    for (const SplitChange& change : changes) add_neighbours(change.op, near);
    for (const RegionBorder& border : regions.borders)
      if (std::ranges::any_of(border.window, [&](std::int32_t op) { return near.contains(op); }))
        for (std::int32_t op : border.window) near.insert(op);
    std::set<std::int32_t> touched;
    for (std::int32_t op : near) touched.insert(regions.of[as_index(op)]);
    std::set<std::uint32_t> far;
    for (std::size_t op = 0; op < model_.graph.operators.size(); ++op)
      if (!touched.contains(regions.of[op])) far.insert(static_cast<std::uint32_t>(op));
    return far;
  }

  /// Operators that use a value that this one uses, through views too.
  void add_neighbours(std::int32_t op, std::set<std::int32_t>& near) const {
    const Outline& outline = planner_->program().distribution.outline;
    std::vector<std::int32_t> open{op};
    near.insert(op);
    while (!open.empty()) {
      std::int32_t next = open.back();
      open.pop_back();
      for (std::int32_t job : outline.jobs_of[as_index(next)])
        for (std::int32_t value : outline.jobs[as_index(job)].values) {
          if (value < 0) continue;
          for (const ValueUse& use : outline.values[as_index(value)].uses) {
            const Job& other = outline.jobs[as_index(use.job)];
            if (near.insert(other.op).second && other.phase->view) open.push_back(other.op);
          }
        }
    }
  }

  void expect_rest_stays(const FoldedGraph& before, const std::vector<SplitChange>& changes) {
    auto was = unfold(before), is = unfold(planner_->graph());
    for (std::uint32_t op : far_from(changes))
      for (std::size_t device = 0; device < asked_.devices; ++device)
        EXPECT_EQ((was[{device, op}]), (is[{device, op}]))
            << model_.graph.operators[op].name << " on device " << device;
  }

  ChangeCase asked_;
  Lowered model_;
  LowerRequest request_;
  KernelTable table_;
  std::optional<Planner> planner_;
  int made_ = 0;
};

int expect_changes(const ChangeCase& asked) {
  ChangedPlans plans(asked);
  for (int number = 0; number < asked.changes; ++number) plans.change(number);
  return plans.made();
}

TEST(Planner, ChangesEqualPlansFromScratch) {
  int made = 0;
  std::uint64_t seed = 0;
  for (const zoo::Entry& entry : zoo::entries())
    for (std::size_t devices : {4, 16})
      made += expect_changes({.model = entry.name, .devices = devices, .seed = ++seed});
  EXPECT_GT(made, 150);
}

TEST(Planner, ChangesEqualPlansFromScratchWithEveryKindOfUpdate) {
  int made = 0;
  std::uint64_t seed = 100;
  for (const char* model : {"resnet18", "gpt2", "lenet", "nmt"}) {
    for (bool norms : {false, true})
      for (bool slices : {false, true})
        for (std::int64_t micro_batches : {1, 2})
          made += expect_changes({.model = model,
                                  .devices = norms == slices ? 4u : 16u,
                                  .seed = ++seed,
                                  .clips = norms,
                                  .slices = slices,
                                  .norms = norms,
                                  .micro_batches = micro_batches});
  }
  EXPECT_GT(made, 100);
}

TEST(Planner, FollowsAChangeUnderAFixedOrderOfSums) {
  auto make = [](const Graph& graph, const Machine& machine) {
    return fixed_order(graph, machine, 4);
  };
  OnDevices model(4, make);
  LowerRequest request = model.request();
  request.outputs.clear();
  KernelTable table = model.kernels.answer(rows_needed(request));
  auto add_rows = [&](const PlanRefusal& refusal) {
    table = model.kernels.answer(std::get<MissingRows>(refusal).rows, table);
  };
  Planner planner(request, table);
  while (std::optional<PlanRefusal> refusal = planner.plan()) add_rows(*refusal);
  FoldedGraph before = planner.graph();
  // The same shards on half of the devices.
  Strategy fewer = OnDevices(2, make).strategy;
  std::vector<SplitChange> changes;
  for (std::size_t op = 0; op < model.graph.operators.size(); ++op)
    changes.push_back(
        {static_cast<std::int32_t>(op), split_of(fewer, model.graph.operators[op].name)});
  while (std::optional<PlanRefusal> refusal = planner.change(changes)) add_rows(*refusal);
  EXPECT_NE(planner.graph(), before);
  Strategy strategy = planner.strategy();
  request.strategy = &strategy;
  Planner fresh(request, table);
  ASSERT_FALSE(fresh.plan().has_value());
  EXPECT_EQ(planner.graph(), fresh.graph());
  planner.undo();
  EXPECT_EQ(planner.graph(), before);
}

/// Half of the moves are views and half placements, of one operator or a run of them.
TEST(Planner, EqualsPlansFromScratchAfterThousandsOfMoves) {
  if (!full_grid()) GTEST_SKIP() << "runs in make test-all";
  for (const char* model : {"alexnet", "inception_v3", "resnet101", "nmt", "gpt2"})
    for (std::size_t devices : {4, 16, 64})
      EXPECT_GT(
          expect_changes({.model = model, .devices = devices, .seed = devices, .changes = 2000}),
          1000);
}

}  // namespace
}  // namespace troika
