// Orders of messages over the models of the zoo: every message has a name that plans may list, and
// listed messages take the same time folded and unfolded.
#include "search/message_order.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/testing/test_effort.h"
#include "lower/message_urgency.h"
#include "lower/planner.h"
#include "lower/testing/contended_machines.h"
#include "lower/testing/lowered.h"
#include "sim/simulate.h"
#include "strategy/message_names.h"
#include "strategy/ready.h"
#include "strategy/testing/random_strategy.h"
#include "zoo/testing/small_models.h"

namespace troika {
namespace {

struct OrderCase {
  std::string model;
  Machine machine{};
  std::uint64_t seed = 0;
  std::int64_t micro_batches = 1;
  bool slices = false, norms = false;
};

const MessageOrderOptions kAnyGain{.least_part = std::numeric_limits<std::int64_t>::max()};

/// A training program under a random strategy, with kernels of 1 to 30 us.
class OrderedPlan {
 public:
  explicit OrderedPlan(const OrderCase& asked) {
    zoo::ModelRequest request = zoo::small_request(asked.model);
    request.samples.batch = 8;
    request.samples.shards = asked.micro_batches;
    model_.graph = zoo::build(request).train();
    model_.machine = asked.machine;
    model_.optimizer.rules.clear();
    for (const Parameter& parameter : model_.graph.parameters)
      if (parameter.trained && !parameter.state)
        model_.optimizer.rules.emplace(parameter.name, asked.norms ? Op{Lamb{}} : Op{Sgd{}});
    auto make = asked.seed % 3 == 0 ? random_strategy : random_view_strategy;
    Strategy drawn = asked.seed % 3 == 2 ? data_parallel(model_.graph, asked.machine)
                                         : make(model_.graph, asked.machine, asked.seed);
    model_.strategy.splits = std::move(drawn.splits);
    model_.strategy.micro_batches = asked.micro_batches;
    model_.strategy.sync.sliced_update = asked.slices;
  }

  bool fits() const {
    return !why_infeasible(model_.strategy, model_.graph, model_.machine).has_value();
  }

  void expect_names() {
    Planner planner(request(), table_);
    while (std::optional<PlanRefusal> refusal = planner.plan())
      add_rows(std::get<MissingRows>(*refusal));
    MessageNames names(model_.graph, model_.strategy.micro_batches);
    for (const auto& [call, message] : message_urgencies(planner.folding()))
      EXPECT_EQ(names.why_none(message.name), std::nullopt);
  }

  OrderedMessages order() {
    while (true) {
      MessageOrderResult result = order_messages(request(), table_, kAnyGain);
      if (auto* found = std::get_if<OrderedMessages>(&result)) return *found;
      add_rows(std::get<MissingRows>(result));
    }
  }

  void expect_periods(const OrderedMessages& found) {
    EXPECT_EQ(found.given, model_.strategy.sync);
    EXPECT_EQ(period_with(found.given), found.before);
    EXPECT_EQ(period_with(found.sync), found.after);
    EXPECT_LE(found.after, found.before);
  }

 private:
  LowerRequest request() {
    LowerRequest asked = model_.request();
    asked.outputs.clear();
    return asked;
  }

  /// Of the graph of all devices.
  SimTime period_with(const Sync& sync) {
    model_.strategy.sync = sync;
    return simulate_loop(std::get<TaskGraph>(lower(request(), table_))).period;
  }

  void add_rows(const MissingRows& missing) {
    KernelTable made = model_.kernels.answer(missing.rows);
    for (const KernelRequest& row : missing.rows) {
      std::vector<Candidate> candidates = *made.find(row.kind, row.key);
      for (Candidate& candidate : candidates)
        candidate.time = SimTime{1000 + static_cast<std::int64_t>(hash(row.key) % 29'000)};
      table_.insert(row, std::move(candidates));
    }
  }

  Lowered model_;
  KernelTable table_;
};

TEST(MessageOrders, OfTheZooAreNeverSlowerAndTheSameForAllDevices) {
  int plans = 0, faster = 0;
  std::uint64_t seed = 0;
  for (const zoo::Entry& entry : zoo::entries()) {
    if (!full_grid() && entry.name != "alexnet" && entry.name != "nmt" && entry.name != "gpt2")
      continue;
    for (const Machine& machine : contended_machines(8)) {
      for (std::uint64_t turn = 0; turn < (full_grid() ? 4u : 1u); ++turn, ++seed) {
        OrderedPlan plan({.model = entry.name,
                          .machine = machine,
                          .seed = seed,
                          .micro_batches = seed % 4 == 3 ? 2 : 1,
                          .slices = seed % 5 == 1,
                          .norms = seed % 7 == 2});
        if (!plan.fits()) continue;
        SCOPED_TRACE(fmt::format("{}, seed {}", entry.name, seed));
        plan.expect_names();
        OrderedMessages found = plan.order();
        plan.expect_periods(found);
        ++plans;
        faster += found.after < found.before && !found.sync.message_order.empty();
      }
    }
  }
  EXPECT_GT(faster, 0) << "of " << plans;
}

}  // namespace
}  // namespace troika
