#include "search/message_order.h"

#include <gtest/gtest.h>

#include <limits>

#include "lower/planner.h"
#include "lower/testing/contended_machines.h"
#include "lower/testing/lowered.h"
#include "sim/simulate.h"
#include "strategy/ready.h"
#include "strategy/testing/random_strategy.h"

namespace troika {
namespace {

constexpr const char* kFork = R"(graph fork
input x f32[8,16000]
parameter short.weight f32[4,16000] uniform 0.5
parameter long.weight f32[5,16000] uniform 0.5
parameter back.weight f32[4,5] uniform 0.5
operator first activation{} (x) [] -> p
operator short linear{out=4} (p) [short.weight] -> s
operator long linear{out=5} (p) [long.weight] -> l
operator back linear{out=4} (l) [back.weight] -> b
operator join binary{} (s b) [] -> y
output y y
)";

/// Device 0 sends p to devices 1 and 2 over its one card of 1 byte/ns, and joins their answers.
struct Fork : Lowered {
  Fork() {
    graph = parse_graph(kFork);
    machine = make_machine({.nodes = {{.count = 3}},
                            .node_link = {1e18, {0}},
                            .network = {.link = {1e9, {1000}, SimTime{0}}}});
    for (const char* name : {"first", "back", "join"}) strategy.splits[name] = {};
    strategy.splits["short"] = {.first = 1};
    strategy.splits["long"] = {.first = 2};
  }

  LowerRequest request() {
    LowerRequest asked = Lowered::request();
    asked.optimizer = nullptr;
    asked.outputs = {"y"};
    return asked;
  }

  /// 200 us for `short`, 600 us for `long`, 1 us for everything else.
  KernelTable times() {
    KernelTable table;
    Planner planner(request(), table);
    while (std::optional<PlanRefusal> refusal = planner.plan()) {
      for (const KernelRequest& row : std::get<MissingRows>(*refusal).rows) {
        KernelTable one = kernels.answer({row});
        std::vector<Candidate> candidates = *one.find(row.kind, row.key);
        bool is_linear = std::holds_alternative<Linear>(row.key.op);
        std::int64_t out = is_linear ? std::get<Linear>(row.key.op).out : 0;
        std::int64_t in = operands_of(row.key)[0].spec.shape[1];
        for (Candidate& candidate : candidates)
          if (in == 16'000 && is_linear) candidate.time = SimTime{out == 4 ? 200'000 : 600'000};
        table.insert(row, candidates);
      }
    }
    return table;
  }
};

OrderedMessages ordered(const LowerRequest& request, const KernelTable& table,
                        const MessageOrderOptions& options = {}) {
  return std::get<OrderedMessages>(order_messages(request, table, options));
}

// By turns device 1 gets its copy first. `first` ends at 1 us, a copy takes 512 us on the card and
// 1 us to arrive. The copy of device 2 can overtake it after a chunk of 256 KiB. The answer of
// `long` has 8 x 5 numbers; `back` and `join` take 1 us each. On that way are 4 kernels and 5
// starts and finishes, for each of which the runtime takes time; before each pass it copies x to
// device 0.
TEST(MessageOrder, LetsTheMessageGoFirstThatTheLongestChainWaitsFor) {
  Fork fork;
  KernelTable table = fork.times();
  Planner planner(fork.request(), table);
  ASSERT_FALSE(planner.plan().has_value());
  const RuntimeCosts& runtime = planner.graph().runtime;
  ASSERT_EQ(runtime.task, runtime.message_end);
  std::int64_t around = 9 * runtime.task.count + runtime.processes.at(0).rest.count;
  const std::int64_t copy = 512'000, chunk = 256 << 10,
                     rest_of_chain = 1000 + 600'000 + 1160 + 2000;
  OrderedMessages found = ordered(fork.request(), table, {.buckets = {}});
  EXPECT_EQ(found.before.count, 1000 + 2 * copy + rest_of_chain + around);
  EXPECT_EQ(found.after.count, 1000 + chunk + copy + rest_of_chain + around);
  EXPECT_EQ(found.sync.message_order, std::vector<std::string>{"p for long forward"});
}

TEST(MessageOrder, WithOneRoundAtMostSimulatesOneOrder) {
  Fork fork;
  KernelTable table = fork.times();
  OrderedMessages none = ordered(fork.request(), table, {.rounds = 0, .buckets = {}});
  EXPECT_EQ(none.sync, fork.strategy.sync);
  EXPECT_EQ(none.simulated, 1);
  EXPECT_LT(ordered(fork.request(), table, {.rounds = 1, .buckets = {}}).after, none.after);
}

TEST(MessageOrder, OfAFinishedPlanStaysAsItIs) {
  Fork fork;
  KernelTable table = fork.times();
  OrderedMessages found = ordered(fork.request(), table);
  fork.strategy.sync = found.sync;
  OrderedMessages again = ordered(fork.request(), table);
  EXPECT_EQ(again.sync, found.sync);
  EXPECT_EQ(again.before, found.after);
  EXPECT_EQ(again.after, found.after);
}

TEST(MessageOrder, WithoutPrioritiesStaysAsItIs) {
  Fork fork;
  fork.strategy.sync.priorities = false;
  OrderedMessages found = ordered(fork.request(), fork.times(), {.buckets = {}});
  EXPECT_EQ(found.sync, fork.strategy.sync);
  EXPECT_EQ(found.before, found.after);
  EXPECT_EQ(found.simulated, 1);
}

TEST(MessageOrder, AsksForTheRowsThatTheTableLacks) {
  Fork fork;
  MessageOrderResult result = order_messages(fork.request(), {});
  ASSERT_TRUE(std::holds_alternative<MissingRows>(result));
  EXPECT_FALSE(std::get<MissingRows>(result).rows.empty());
}

const MessageOrderOptions kAnyGain{.least_part = std::numeric_limits<std::int64_t>::max()};

TEST(MessageOrder, IsKeptOnlyIfItIsWorthIt) {
  Fork fork;
  KernelTable table = fork.times();
  OrderedMessages found = ordered(fork.request(), table);
  ASSERT_GT((found.before - found.after) * 10, found.before);
  MessageOrderOptions half{.least_part = 2};
  OrderedMessages kept = ordered(fork.request(), table, half);
  EXPECT_EQ(kept.sync, fork.strategy.sync);
  EXPECT_EQ(kept.after, found.before);
}

/// A training program under a strategy, with all rows of the table.
struct Training : Lowered {
  LowerRequest request() {
    LowerRequest asked = Lowered::request();
    asked.outputs.clear();
    return asked;
  }
  KernelTable table() {
    KernelTable made = kernels.answer(rows_needed(request()));
    while (true) {
      MessageOrderResult result = order_messages(request(), made, kAnyGain);
      auto* missing = std::get_if<MissingRows>(&result);
      if (missing == nullptr) return made;
      made = kernels.answer(missing->rows, made);
    }
  }
};

/// Gradients of three parameters, summed by devices of two computers.
Training with_buckets_of(Bytes size) {
  Training training;
  training.machine = with_shared_cards(4);
  training.strategy = data_parallel(training.graph, training.machine);
  training.strategy.sync.bucket = size;
  training.strategy.sync.overlap = false;  // each message alone
  return training;
}

TEST(MessageOrder, JoinsGradientsIfThatIsFaster) {
  Training apart = with_buckets_of({1});
  OrderedMessages found = ordered(apart.request(), apart.table());
  EXPECT_LT(found.after, found.before);
  EXPECT_GT(found.sync.bucket, Bytes{1});
  Training joined = with_buckets_of(found.sync.bucket);
  MessageOrderOptions options{.buckets = {{1}}};
  EXPECT_EQ(ordered(joined.request(), joined.table(), options).sync.bucket, found.sync.bucket);
}

/// What `order_messages` promises is what both readers of the plan see.
void expect_same_everywhere(Training& training) {
  KernelTable table = training.table();
  OrderedMessages found = ordered(training.request(), table, kAnyGain);
  Planner given(training.request(), table);
  ASSERT_FALSE(given.plan().has_value());
  EXPECT_EQ(simulate_loop(given.graph()).period, found.before);
  EXPECT_EQ(found.sync == training.strategy.sync, found.after == found.before);
  training.strategy.sync = found.sync;
  ASSERT_EQ(why_infeasible(training.strategy, training.graph, training.machine), std::nullopt);
  EXPECT_EQ(parse_strategy(to_json(training.strategy)).sync, found.sync);
  Planner planner(training.request(), table);
  ASSERT_FALSE(planner.plan().has_value());
  TaskGraph graph = std::get<TaskGraph>(lower(training.request(), table));
  EXPECT_EQ(simulate_loop(planner.graph()).period, found.after);
  EXPECT_EQ(simulate_loop(graph).period, found.after);
}

TEST(MessageOrder, IsTheSameForTheSimulatorAndForTasksThatRun) {
  int shorter = 0;
  for (const Machine& machine : contended_machines(4)) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      Training training;
      training.machine = machine;
      auto make = seed % 2 == 0 ? random_view_strategy : random_strategy;
      training.strategy = make(training.graph, machine, seed);
      training.strategy.sync.fixed_order = false;
      training.strategy.sync.priorities = true;
      if (why_infeasible(training.strategy, training.graph, machine)) continue;
      Sync before = training.strategy.sync;
      expect_same_everywhere(training);
      shorter += training.strategy.sync.message_order != before.message_order;
    }
  }
  EXPECT_GT(shorter, 0);
}

}  // namespace
}  // namespace troika
