// A plan that was changed operator by operator is the plan that is made from scratch, task by task,
// and what does not depend on a change stays as it is.
#include "lower/planner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "base/testing/test_effort.h"
#include "lower/message_urgency.h"
#include "lower/plan_hash.h"
#include "lower/testing/contended_machines.h"
#include "lower/testing/lowered.h"
#include "lower/testing/plan_difference.h"
#include "machine/cluster.h"
#include "strategy/ready.h"
#include "strategy/split_check.h"
#include "strategy/testing/random_strategy.h"
#include "strategy/tiles.h"
#include "zoo/testing/small_models.h"

namespace troika {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct ChangeCase {
  std::string model;
  std::size_t devices = 4;
  std::uint64_t seed = 0;
  int changes = 6;
  bool clips = false, slices = false, norms = false;
  std::int64_t micro_batches = 1;
  bool two_kernels = false;
  std::optional<Bytes> bucket{};
  bool orders = false;  // some messages are listed
};

/// A task of one device, without what names its class.
using Unfolded = std::tuple<Turn, PackedId, std::int64_t, std::int16_t, TaskKind>;

/// Reorders are numbered by values, updates and phases.
bool is_reorder(const IdFields& id) { return id.phase == 15; }

/// A device and what its tasks work for, by subject and number.
using Worked = std::tuple<std::size_t, Subject, std::uint32_t>;

/// The tasks by device and by what they work for.
std::map<Worked, std::vector<Unfolded>> unfold(const FoldedGraph& graph) {
  std::map<Worked, std::vector<Unfolded>> unfolded;
  for (std::size_t device = 0; device < graph.classes.of_device.size(); ++device) {
    for (const FoldedTask& task : graph.tasks[as_index(graph.classes.of_device[device])]) {
      IdFields id = unpack(task.id);
      if (is_reorder(id)) continue;
      id.device = static_cast<std::uint32_t>(device);
      unfolded[{device, id.subject, id.number}].emplace_back(task.turn, pack(id), task.time.count,
                                                             task.lag, task.kind);
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
    // Where messages wait for each other, what they occupy depends on the classes.
    if (asked.seed % 2 == 0)
      model_.machine.devices.assign(asked.devices, {.name = "cpu"});
    else
      model_.machine =
          asked.seed % 4 == 1 ? with_narrow_uplinks(asked.devices) : without_links(asked.devices);
    model_.kernels.fuses = true;
    model_.kernels.fused_time = SimTime{500};
    model_.kernels.two_kernels = asked.two_kernels;
    model_.strategy = drawn(random_view_strategy, asked.seed);
    model_.strategy.micro_batches = asked.micro_batches;
    model_.strategy.sync.sliced_update = asked.slices;
    if (asked.bucket) model_.strategy.sync.bucket = *asked.bucket;
    set_rules();
    request_ = model_.request();
    request_.outputs.clear();
    planner_.emplace(request_, table_);
    plan();
    if (asked.orders) list_messages();
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
    Strategy strategy = planner_->strategy();
    auto expect_unchanged = [&](const char* when) {
      EXPECT_EQ(planner_->graph(), before) << when;
      EXPECT_EQ(planner_->strategy(), strategy) << when;
    };
    std::optional<PlanRefusal> refusal = planner_->change(changes);
    while (refusal && std::holds_alternative<MissingRows>(*refusal)) {
      expect_unchanged("after a refusal");
      add_rows(*refusal);
      plan();
      before = planner_->graph();
      refusal = planner_->change(changes);
    }
    if (refusal) return expect_unchanged("after a refusal");
    ++made_;
    expect_from_scratch();
    expect_rest_stays(before, changes);
    if (number % 3 != 0) return;
    planner_->undo();
    expect_unchanged("undone");
    expect_from_scratch();
  }

  int made() const { return made_; }
  /// How many tasks were found to have stayed as they were, by subject.
  const std::map<Subject, std::size_t>& stayed() const { return stayed_; }

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

  /// Every second message goes first, in the order of names.
  void list_messages() {
    std::set<std::string> names;
    for (const auto& [call, message] : message_urgencies(planner_->folding()))
      names.insert(message.name);
    for (bool is_listed = true; const std::string& name : names) {
      if (is_listed) model_.strategy.sync.message_order.push_back(name);
      is_listed = !is_listed;
    }
    planner_.emplace(request_, table_);
    plan();
  }

  void plan() {
    while (std::optional<PlanRefusal> refusal = planner_->plan()) add_rows(*refusal);
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
    EXPECT_EQ(hash(planner_->program()), hash(fresh.program()));
    EXPECT_EQ(first_stale_fragment(*planner_), "");
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
    std::set<std::uint32_t> far = far_from(changes);
    auto expect_same = [&](Subject subject, std::size_t number, const std::string& name) {
      for (std::size_t device = 0; device < asked_.devices; ++device) {
        Worked key{device, subject, static_cast<std::uint32_t>(number)};
        EXPECT_EQ(was[key], is[key]) << name << " on device " << device;
        stayed_[subject] += is[key].size();
      }
    };
    for (std::uint32_t op : far)
      expect_same(Subject::operation, op, model_.graph.operators[op].name);
    const Outline& outline = planner_->program().distribution.outline;
    for (std::size_t at = 0; at < model_.graph.tensors.size(); ++at)
      if (are_far({outline.tensors[at], outline.gradients[at]}, far))
        expect_same(Subject::tensor, at, model_.graph.tensors[at].name);
    for (std::size_t at = 0; at < model_.graph.parameters.size(); ++at)
      if (are_far(bucketed_with(at), far))
        expect_same(Subject::parameter, at, model_.graph.parameters[at].name);
  }

  /// Whether all operators that use these values are far from a change; -1: no value.
  bool are_far(const std::vector<std::int32_t>& values, const std::set<std::uint32_t>& far) const {
    const Outline& outline = planner_->program().distribution.outline;
    for (std::int32_t value : values) {
      if (value < 0) continue;
      for (const ValueUse& use : outline.values[as_index(value)].uses)
        if (!far.contains(static_cast<std::uint32_t>(outline.jobs[as_index(use.job)].op)))
          return false;
    }
    return true;
  }

  /// A parameter and its gradient, and those that may be in one message with it.
  std::vector<std::int32_t> bucketed_with(std::size_t parameter) const {
    const ProgramPlan& plan = planner_->program();
    const Outline& outline = plan.distribution.outline;
    std::vector<std::int32_t> values{outline.parameters[parameter],
                                     outline.parameter_gradients[parameter]};
    for (const UpdateGroup& group : plan.bucket_groups) {
      auto is_own = [&](std::int32_t at) {
        return plan.updates[as_index(at)].parameter == static_cast<std::int32_t>(parameter);
      };
      if (std::ranges::none_of(group, is_own)) continue;
      for (std::int32_t at : group) {
        values.push_back(plan.updates[as_index(at)].weight);
        values.push_back(plan.updates[as_index(at)].gradient);
      }
    }
    return values;
  }

  ChangeCase asked_;
  Lowered model_;
  LowerRequest request_;
  KernelTable table_;
  std::optional<Planner> planner_;
  int made_ = 0;
  std::map<Subject, std::size_t> stayed_;
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

TEST(Planner, ChangesEqualPlansFromScratchWhereKernelsWantOtherLayouts) {
  int made = 0;
  std::uint64_t seed = 200;
  for (const zoo::Entry& entry : zoo::entries())
    made += expect_changes({.model = entry.name,
                            .devices = 8,
                            .seed = ++seed,
                            .changes = full_grid() ? 100 : 4,
                            .norms = seed % 2 == 0,
                            .two_kernels = true});
  EXPECT_GT(made, 40);
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
                                  .micro_batches = micro_batches,
                                  .orders = seed % 3 > 0});
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

/// A linear layer and a loss, on a machine.
struct OneLayer : Lowered {
  explicit OneLayer(std::int64_t batch, Machine on = {}) {
    graph = parse_graph(fmt::format(R"(graph layer
input x f32[{0},4]
input target i32[{0}]
input weight f32[{0}]
parameter a.weight f32[4,4] uniform 0.5
operator a linear{{out=4}} (x) [a.weight] -> a
operator relu activation{{}} (a) [] -> logits
operator loss cross_entropy{{}} (logits target weight) [] -> loss_sum weight_sum
loss loss_sum weight_sum
)",
                                    batch));
    optimizer.rules = {{"a.weight", Sgd{}}};
    if (!on.devices.empty()) machine = std::move(on);
  }

  LowerRequest training() {
    LowerRequest asked = request();
    asked.outputs.clear();
    return asked;
  }
  void add_rows(const PlanRefusal& refusal) {
    table = kernels.answer(std::get<MissingRows>(refusal).rows, table);
  }
  void plan(Planner& planner) {
    while (std::optional<PlanRefusal> refusal = planner.plan()) add_rows(*refusal);
  }
  /// Requires a change that is feasible.
  void change(Planner& planner, const std::vector<SplitChange>& changes) {
    while (std::optional<PlanRefusal> refusal = planner.change(changes)) {
      add_rows(*refusal);
      plan(planner);
    }
  }

  KernelTable table;
};

/// Shards of 3, 3, 2 and 2 samples are of two kinds. On one device a weight is stored once, on four
/// its places have the kinds of the shards.
TEST(Planner, GivesAllKindsOfUnequalShardsTheUnitsOfOneDevice) {
  OneLayer model(10);
  model.machine.devices.resize(4);
  model.strategy = fixed_order(model.graph, model.machine, 4);
  Planner planner(model.training(), model.table);
  model.plan(planner);
  const ProgramPlan& plan = planner.program();
  auto kinds_of = [&](TileSetId set) { return plan.distribution.kinds_of(set).first.size(); };
  for (std::size_t job = 0; job < plan.distribution.jobs.size(); ++job)
    EXPECT_EQ(plan.units.jobs[job].size(), kinds_of(plan.distribution.jobs[job].set)) << job;
  auto weight = as_index(plan.updates.at(0).weight);
  ASSERT_EQ(kinds_of(plan.distribution.values[weight].stored.set), 2u);
  EXPECT_EQ(plan.units.stored[weight].size(), 2u);
  ASSERT_EQ(plan.units.updates[0].size(), 2u);
  EXPECT_EQ(plan.units.updates[0][0], plan.units.updates[0][1]);
}

/// Levels of an all-reduce are asked for, which devices of one computer do not have.
TEST(Planner, RefusesAChangeWithoutAnAlgorithmEveryTime) {
  OneLayer model(8, make_machine({.nodes = {{.count = 2, .devices = 2, .ranks = 2}}}));
  model.strategy = data_parallel(model.graph, model.machine);
  std::vector<SplitChange> inside_one_node{{0, {.factors = {{.axis = "n", .degree = 2}}}}};
  {
    // The rows of all plans, so that it is not for missing rows that a change is refused.
    Planner any_algorithm(model.training(), model.table);
    model.plan(any_algorithm);
    model.change(any_algorithm, {{1, {.factors = {{.axis = "n", .degree = 2, .stride = 2}}}}});
    model.change(any_algorithm, inside_one_node);
  }
  model.strategy.sync.algorithms = "hierarchical:0-max";
  Planner planner(model.training(), model.table);
  model.plan(planner);
  FoldedGraph first = planner.graph();
  model.change(planner, {{1, {.factors = {{.axis = "n", .degree = 2, .stride = 2}}}}});
  FoldedGraph before = planner.graph();
  Strategy strategy = planner.strategy();
  EXPECT_NE(before, first);
  for (int time = 0; time < 3; ++time) {
    EXPECT_THAT([&] { (void)planner.change(inside_one_node); },
                ThrowsMessage<Error>(HasSubstr("hierarchical")))
        << "time " << time;
    EXPECT_EQ(planner.graph(), before) << "time " << time;
    EXPECT_EQ(planner.strategy(), strategy) << "time " << time;
  }
  planner.undo();
  EXPECT_EQ(planner.graph(), first);
}

TEST(Planner, UndoesTheLastAcceptedChangeAfterRefusedOnes) {
  OneLayer model(8);
  model.machine.devices.resize(4);
  Planner planner(model.training(), model.table);
  model.plan(planner);
  FoldedGraph first = planner.graph();
  Strategy strategy = planner.strategy();
  model.change(planner, {{0, {.factors = {{.axis = "n", .degree = 4}}}}});
  FoldedGraph changed = planner.graph();
  EXPECT_NE(changed, first);
  // One that is infeasible, and one that lacks rows, after which everything is planned again.
  std::vector<SplitChange> too_many{{0, {.factors = {{.axis = "n", .degree = 5}}}}};
  std::vector<SplitChange> unknown{{0, {.factors = {{.axis = "o", .degree = 2}}}}};
  std::optional<PlanRefusal> refusal = planner.change(too_many);
  ASSERT_TRUE(refusal && std::holds_alternative<Infeasible>(*refusal));
  refusal = planner.change(unknown);
  ASSERT_TRUE(refusal && std::holds_alternative<MissingRows>(*refusal));
  EXPECT_EQ(planner.graph(), changed);
  planner.undo();
  EXPECT_EQ(planner.graph(), first);
  EXPECT_EQ(planner.strategy(), strategy);
  EXPECT_EQ(first_stale_fragment(planner), "");
}

TEST(Planner, UndoesAChangeOfNothing) {
  OneLayer model(8);
  model.machine.devices.resize(4);
  Planner planner(model.training(), model.table);
  model.plan(planner);
  model.change(planner, {{0, {.factors = {{.axis = "n", .degree = 4}}}}});
  FoldedGraph changed = planner.graph();
  EXPECT_FALSE(planner.change({}).has_value());
  planner.undo();
  EXPECT_EQ(planner.graph(), changed);
}

/// 8,192 tiles of an operator are the most that turns count on a device; here are 9,216.
struct TooManyTiles : Lowered {
  TooManyTiles() {
    graph = parse_graph(R"(graph wide
input x f32[96,4]
input target i32[96]
input weight f32[96]
parameter a.weight f32[96,4] uniform 0.5
operator a linear{out=96} (x) [a.weight] -> logits
operator loss cross_entropy{} (logits target weight) [] -> loss_sum weight_sum
loss loss_sum weight_sum
)");
    optimizer.rules = {{"a.weight", Sgd{}}};
  }
  LowerRequest training() {
    LowerRequest asked = request();
    asked.outputs.clear();
    return asked;
  }
  static Split one_element_each() {
    return {.factors = {{.axis = "n", .degree = 96, .stride = 0},
                        {.axis = "o", .degree = 96, .stride = 0}}};
  }
};

TEST(Planner, ProgramsThatAreOutOfIdsAreInfeasible) {
  TooManyTiles model;
  model.strategy.splits["a"] = TooManyTiles::one_element_each();
  LowerResult result = lower(model.training(), {});
  ASSERT_TRUE(std::holds_alternative<Infeasible>(result));
  EXPECT_THAT(std::get<Infeasible>(result).reason, HasSubstr("split into fewer tiles"));
}

TEST(Planner, RefusesAChangeThatIsOutOfIdsAndLacksRows) {
  TooManyTiles model;
  LowerRequest request = model.training();
  KernelTable table = model.kernels.answer(rows_needed(request));
  Planner planner(request, table);
  ASSERT_FALSE(planner.plan().has_value());
  FoldedGraph before = planner.graph();
  std::vector<SplitChange> changes{{0, TooManyTiles::one_element_each()}};
  std::optional<PlanRefusal> refusal = planner.change(changes);
  ASSERT_TRUE(refusal && std::holds_alternative<Infeasible>(*refusal));
  EXPECT_THAT(std::get<Infeasible>(*refusal).reason, HasSubstr("split into fewer tiles"));
  EXPECT_EQ(planner.graph(), before);
  EXPECT_EQ(planner.strategy(), model.strategy);
}

TEST(Planner, LeavesTensorsAndParametersThatAreFarFromAChangeAlone) {
  ChangedPlans plans(
      {.model = "resnet18", .devices = 4, .seed = 300, .two_kernels = true, .bucket = Bytes{1}});
  for (int number = 0; number < 5; ++number) plans.change(number);
  for (Subject subject : {Subject::operation, Subject::tensor, Subject::parameter})
    EXPECT_GT(plans.stayed().at(subject), 300) << static_cast<int>(subject);
}

/// The moves of a long walk, in parts that can run at the same time.
std::vector<ChangeCase> long_walks() {
  std::vector<ChangeCase> cases;
  for (const char* model : {"alexnet", "inception_v3", "resnet101", "nmt", "gpt2"})
    for (std::size_t devices : {4, 16, 64})
      for (std::uint64_t part = 0; part < 8; ++part)
        cases.push_back(
            {.model = model, .devices = devices, .seed = 8 * devices + part, .changes = 250});
  return cases;
}

class LongWalks : public testing::TestWithParam<ChangeCase> {};

/// Half of the moves are views and half placements, of one operator or a run of them.
TEST_P(LongWalks, EqualPlansFromScratch) {
  if (!full_grid()) GTEST_SKIP() << "runs in make test-all";
  EXPECT_GT(expect_changes(GetParam()), 125);
}

INSTANTIATE_TEST_SUITE_P(Models, LongWalks,
                         testing::ValuesIn(full_grid() ? long_walks() : std::vector<ChangeCase>(1)),
                         [](const auto& row) {
                           return fmt::format("{}_on_{}_seed_{}", row.param.model,
                                              row.param.devices, row.param.seed);
                         });

}  // namespace
}  // namespace troika
