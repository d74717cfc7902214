// A plan that was changed operator by operator is the plan that is made from scratch.
#include "lower/change.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "lower/testing/lowered.h"
#include "lower/testing/plan_difference.h"
#include "strategy/ready.h"
#include "strategy/split_check.h"
#include "strategy/strategy_change.h"
#include "strategy/testing/random_strategy.h"
#include "zoo/testing/small_models.h"

namespace troika {
namespace {

struct ChangeCase {
  std::string model;
  std::size_t devices = 4;
  std::uint64_t seed = 0;
  int changes = 8;
  bool clips = false, slices = false, norms = false;
  std::int64_t micro_batches = 1;
  bool two_kernels = false;
};

/// A plan, the request that it is made from, and moves to other plans.
class ChangedPlan {
 public:
  explicit ChangedPlan(const ChangeCase& asked) : asked_(asked) {
    zoo::ModelRequest request = zoo::small_request(asked.model);
    request.samples.batch = 8;
    request.samples.shards = asked.micro_batches;  // a micro-batch must have whole ones
    model_.graph = zoo::build(request).train();
    model_.machine.devices.assign(asked.devices, {.name = "cpu"});
    model_.kernels.fuses = true;
    model_.kernels.fused_time = SimTime{500};
    model_.kernels.two_kernels = asked.two_kernels;
    model_.strategy = random_view_strategy(model_.graph, model_.machine, asked.seed);
    model_.strategy.micro_batches = asked.micro_batches;
    model_.strategy.sync.sliced_update = asked.slices;
    drop_infeasible();
    set_rules();
    request_ = model_.request();
    request_.outputs.clear();
    tables_.emplace(model_.graph, model_.machine);
    plan_.emplace(decided(*tables_));
  }

  /// Gives one operator, or a run of a few, the splits of another strategy. Checks everything.
  void change(int number) {
    RandomStream draws{.key = asked_.seed, .stream = static_cast<std::uint64_t>(number)};
    auto make = number % 2 == 0 ? random_view_strategy : random_strategy;
    Strategy other = make(model_.graph, model_.machine, draws.below(0, 1 << 20));
    std::uint64_t count = draws.below(1, 2) == 0 ? 1 : 2 + draws.below(2, 4);
    std::uint64_t first = draws.below(3, model_.graph.operators.size());
    std::vector<std::int32_t> operators;
    std::vector<Split> before;
    for (std::uint64_t at = first; at < std::min(first + count, model_.graph.operators.size());
         ++at) {
      operators.push_back(static_cast<std::int32_t>(at));
      const std::string& name = model_.graph.operators[at].name;
      before.push_back(split_of(model_.strategy, name));
      model_.strategy.splits[name] = split_of(other, name);
    }
    auto reason =
        why_change_infeasible({model_.strategy, operators}, tables_->index, model_.machine);
    EXPECT_EQ(reason, why_infeasible(model_.strategy, model_.graph, model_.machine));
    if (reason) return restore(operators, before);
    std::string what = fmt::format("{} seed {} change {}, operators {} to {}", asked_.model,
                                   asked_.seed, number, operators.front(), operators.back());
    ProgramPlan former = *plan_;
    change_to(operators, what);
    ++made_;
    if (number % 3 != 0) return;
    restore(operators, before);
    change_to(operators, what + " undone");
    EXPECT_EQ(first_difference(*plan_, former), "") << what << " undone";
  }

  int made() const { return made_; }
  int staged() const { return staged_; }

 private:
  /// Splits that were drawn for other micro-batches may not fit.
  void drop_infeasible() {
    IndexedGraph index(model_.graph);
    SplitTerms terms{static_cast<std::int64_t>(asked_.devices), asked_.micro_batches};
    std::erase_if(model_.strategy.splits, [&](const auto& named) {
      std::size_t op = index.operators.at(named.first);
      return why_split_infeasible({&model_.graph.operators[op], &index.signatures[op]},
                                  named.second, terms)
          .has_value();
    });
  }

  void set_rules() {
    model_.optimizer.rules.clear();
    for (const Parameter& parameter : model_.graph.parameters)
      if (parameter.trained && !parameter.state)
        model_.optimizer.rules.emplace(parameter.name,
                                       asked_.norms ? Op{Lamb{}} : Op{Sgd{.momentum = 0.9}});
    if (asked_.clips) model_.optimizer.clip_norm = 1;
  }

  KernelUnits units_of(const ProgramPlan& plan) {
    UnitRegions regions = find_regions(plan.tables.index);
    KernelTable table = model_.kernels.answer(rows_of(plan.unit_request(), regions));
    return choose_units(plan.unit_request(), regions, table).value();
  }

  ProgramPlan decided(PlanTables& tables) {
    ProgramPlan plan{request_, tables, distribute(request_, tables)};
    plan.updates = plan_updates(request_, plan.distribution, tables);
    plan.units = units_of(plan);
    settle(plan);
    return plan;
  }

  void restore(const std::vector<std::int32_t>& operators, const std::vector<Split>& splits) {
    for (std::size_t at = 0; at < operators.size(); ++at)
      model_.strategy.splits[model_.graph.operators[as_index(operators[at])].name] = splits[at];
  }

  void change_to(const std::vector<std::int32_t>& operators, const std::string& what) {
    ProgramPlan before = *plan_;
    std::vector<bool> staged = plan_->distribution.outline.staged;
    Touched touched = change_splits(*plan_, *tables_, operators);
    staged_ += staged != plan_->distribution.outline.staged ? 1 : 0;
    plan_->units = units_of(*plan_);
    settle(*plan_, touched, note_units(before.units, touched));
    PlanTables fresh(model_.graph, model_.machine);
    EXPECT_EQ(first_difference(*plan_, decided(fresh)), "") << what;
    EXPECT_EQ(first_untold(before, *plan_, touched), "") << what;
  }

  /// Adds to what is touched where the units differ. Returns the jobs of those units.
  std::vector<std::int32_t> note_units(const KernelUnits& before, Touched& touched) {
    const KernelUnits& now = plan_->units;
    std::vector<bool> decided(now.jobs.size());
    for (std::size_t job = 0; job < now.jobs.size(); ++job)
      decided[job] = now.jobs[job] != before.jobs[job];
    // A unit of several jobs stands at the last of them.
    for (const KernelUnits* units : {&before, &now})
      for (std::size_t job = units->jobs.size(); job-- > 0;)
        for (const KernelUnit& unit : units->jobs[job]) close_over(unit, job, decided);
    std::vector<std::int32_t> jobs;
    for (std::size_t job = 0; job < decided.size(); ++job)
      if (decided[job]) jobs.push_back(static_cast<std::int32_t>(job));
    std::ranges::copy(jobs, std::back_inserter(touched.jobs));
    for (std::size_t at = 0; at < now.stored.size(); ++at)
      if (now.stored[at] != before.stored[at])
        touched.values.push_back(static_cast<std::int32_t>(at));
    return jobs;
  }

  static void close_over(const KernelUnit& unit, std::size_t job, std::vector<bool>& decided) {
    auto is_decided = [&](const ValueUse& use) { return decided[as_index(use.job)]; };
    if (!decided[job] && std::ranges::none_of(unit.operands, is_decided)) return;
    decided[job] = true;
    for (const ValueUse& use : unit.operands) decided[as_index(use.job)] = true;
  }

  ChangeCase asked_;
  Lowered model_;
  LowerRequest request_;
  std::optional<PlanTables> tables_;
  std::optional<ProgramPlan> plan_;
  int made_ = 0, staged_ = 0;
};

void expect_changes(const ChangeCase& asked, int& made, int& staged) {
  ChangedPlan plan(asked);
  for (int number = 0; number < asked.changes; ++number) plan.change(number);
  made += plan.made();
  staged += plan.staged();
}

TEST(Change, EqualsPlanningFromScratch) {
  int made = 0, staged = 0;
  std::uint64_t seed = 0;
  for (const zoo::Entry& entry : zoo::entries())
    for (std::size_t devices : {4, 16})
      expect_changes({.model = entry.name, .devices = devices, .seed = ++seed}, made, staged);
  EXPECT_GT(made, 200);
}

TEST(Change, EqualsPlanningFromScratchWhereKernelsWantOtherLayouts) {
  int made = 0, staged = 0;
  std::uint64_t seed = 200;
  for (const zoo::Entry& entry : zoo::entries())
    expect_changes(
        {.model = entry.name, .devices = 8, .seed = ++seed, .changes = 4, .two_kernels = true},
        made, staged);
  EXPECT_GT(made, 50);
}

/// Four devices run most operators, the last two run on the first device. What `add` writes stays
/// as it is, but its tiles are no longer of one kind if those of another operator are not: a reader
/// in another region of units gets it in several buffers.
TEST(Change, TouchesReadersOfTilesThatBecomeOfSeveralKinds) {
  OnDevices model(4, data_parallel);
  model.strategy.splits.erase("b");
  model.strategy.splits.erase("loss");
  LowerRequest request = model.request();
  PlanTables tables(model.graph, model.machine);
  Distribution distribution = distribute(request, tables);
  std::int32_t bias = 1, add = 3, reader = 4;
  model.strategy.splits["a.bias"].factors[0].weights = {3, 2, 2, 1};
  Touched touched = change(distribution, {request, std::span(&bias, 1)}, tables);
  const Outline& outline = distribution.outline;
  std::int32_t writes = outline.jobs_of[as_index(add)].front();
  const JobTiles& tiles = distribution.jobs[as_index(writes)];
  EXPECT_EQ(distribution.kinds_of(tiles.set).first.size(), 3u);
  EXPECT_TRUE(std::ranges::binary_search(touched.jobs, writes));
  EXPECT_TRUE(std::ranges::binary_search(touched.jobs, outline.jobs_of[as_index(reader)].front()));
}

TEST(Change, EqualsPlanningFromScratchWithEveryKindOfUpdate) {
  int made = 0, staged = 0;
  std::uint64_t seed = 100;
  for (const char* model : {"resnet18", "gpt2", "lenet", "nmt"}) {
    for (bool norms : {false, true})
      for (bool slices : {false, true})
        for (std::int64_t micro_batches : {1, 2})
          expect_changes({.model = model,
                          .devices = norms == slices ? 4u : 16u,
                          .seed = ++seed,
                          .clips = norms,
                          .slices = slices,
                          .norms = norms,
                          .micro_batches = micro_batches},
                         made, staged);
  }
  EXPECT_GT(made, 150);
  EXPECT_GT(staged, 5);
}

}  // namespace
}  // namespace troika
