#include "lower/layout_search.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

constexpr Layout kPlain = Layout::plain, kBlocked = Layout::blocked16;

/// x -> first -> v0 -> relu -> v1 -> relu -> v2 -> last -> y. The two ends have kernels of their
/// own in two layouts; what is between takes any.
class Chain {
 public:
  Chain() {
    graph.buffers.assign(5, {.spec = spec});
    graph.buffers.front().fixed = kPlain;
    graph.buffers.back().fixed = kPlain;
    add(Pool2d{}, 0);
    add(Activation{.kind = ActivationKind::relu}, 1);
    add(Activation{.kind = ActivationKind::tanh}, 2);
    add(Pool2d{.kind = PoolKind::average}, 3);
    offer(1, {flat()});
    offer(2, {flat()});
  }

  void offer(std::size_t unit, std::vector<Candidate> candidates) {
    table.of("").insert(graph.units[unit].key, std::move(candidates));
  }
  struct Blocked {
    std::int64_t first_takes;
  };
  /// Plain, the ends take 9 and 100; blocked in between, the last takes 5.
  void last_gains_from_blocked(Blocked blocked) {
    offer(0, {kernel(kPlain, kPlain, 9), kernel(kPlain, kBlocked, blocked.first_takes)});
    offer(3, {kernel(kPlain, kPlain, 100), kernel(kBlocked, kPlain, 5)});
  }
  static Candidate kernel(Layout from, Layout to, std::int64_t nanoseconds) {
    return {.algorithm = "k", .layouts = {from, to}, .time = SimTime{nanoseconds}};
  }
  static Candidate flat() {
    return {.algorithm = "loop", .layouts = {kPlain, kPlain}, .flat = true, .time = SimTime{1}};
  }
  void reorders_take(std::int64_t nanoseconds) {
    for (auto [from, to] : {std::pair(kPlain, kBlocked), std::pair(kBlocked, kPlain)})
      table.of("").insert({Reorder{from, to}, {spec}, Phase::forward, {}},
                          {kernel(from, to, nanoseconds)});
  }
  LayoutChoices search() {
    EXPECT_TRUE(find_rows(graph, machine, table));
    return search_layouts(graph, machine, table);
  }

  TensorSpec spec{{2, 16, 4, 4}, DType::f32};
  UnitGraph graph;
  KernelTable table;
  Machine machine{{{.name = "device"}}};

 private:
  void add(const Op& op, std::int32_t from) {
    graph.units.push_back({.job = from,
                           .device = DeviceId(0u),
                           .key = {op, {spec}, Phase::forward, {}},
                           .uses = {{from, Access::read}, {from + 1, Access::write}}});
  }
};

std::vector<Layout> written(const LayoutChoices& choices) {
  std::vector<Layout> layouts;
  for (const KernelChoice& choice : choices.kernels) layouts.push_back(choice.layouts.back());
  return layouts;
}

TEST(SearchLayouts, ARunOfTasksFollowsWhereBothItsEndsGain) {
  Chain chain;
  chain.last_gains_from_blocked({.first_takes = 10});
  chain.reorders_take(20);
  EXPECT_EQ(written(chain.search()), (std::vector{kBlocked, kBlocked, kBlocked, kPlain}));
}

TEST(SearchLayouts, AReorderIsTakenWhereItIsCheaperThanTheOtherKernel) {
  Chain chain;
  chain.last_gains_from_blocked({.first_takes = 500});
  chain.reorders_take(20);
  LayoutChoices choices = chain.search();
  EXPECT_EQ(choices.kernels[0].layouts.back(), kPlain);
  EXPECT_EQ(choices.kernels[3].layouts.front(), kBlocked);
}

TEST(SearchLayouts, ADearReorderIsAvoidedEvenForASlowerKernel) {
  Chain chain;
  chain.last_gains_from_blocked({.first_takes = 500});
  chain.reorders_take(1000);
  EXPECT_EQ(written(chain.search()), (std::vector{kPlain, kPlain, kPlain, kPlain}));
}

TEST(SearchLayouts, WhatTheHostReadsIsPlain) {
  Chain chain;
  chain.offer(0, {chain.kernel(kPlain, kPlain, 9)});
  chain.offer(3, {chain.kernel(kPlain, kBlocked, 1), chain.kernel(kPlain, kPlain, 100)});
  chain.reorders_take(1);
  EXPECT_EQ(written(chain.search()).back(), kPlain);
}

TEST(SearchLayouts, AValueThatABorderHasFixedIsWrittenSo) {
  Chain chain;
  chain.last_gains_from_blocked({.first_takes = 10});
  chain.reorders_take(20);
  chain.graph.buffers[2].fixed = kPlain;
  // Better blocked, but for the value in the middle.
  EXPECT_EQ(chain.search().kernels[1].layouts, (std::vector{kPlain, kPlain}));
  chain.graph.buffers[2].fixed = kBlocked;
  EXPECT_EQ(chain.search().kernels[1].layouts, (std::vector{kBlocked, kBlocked}));
}

TEST(SearchLayouts, AValueFromOutsideThatNothingFixesLiesAsItsReadersWantIt) {
  Chain chain;
  chain.last_gains_from_blocked({.first_takes = 10});
  chain.reorders_take(20);
  chain.graph.units.erase(chain.graph.units.begin(), chain.graph.units.begin() + 3);
  EXPECT_EQ(chain.search().buffers[3], kBlocked);
}

TEST(SearchLayouts, OfEqualKernelsTheFastestIsTaken) {
  Chain chain;
  chain.offer(0, {chain.kernel(kPlain, kPlain, 9), chain.kernel(kPlain, kPlain, 7)});
  chain.offer(3, {chain.kernel(kPlain, kPlain, 7)});
  LayoutChoices choices = chain.search();
  EXPECT_EQ(choices.kernels[0].time, SimTime{7});
  EXPECT_EQ(choices.cost, 7 + 1 + 1 + 7);
}

/// What is between the units and the outside costs a reorder where it lies otherwise.
TEST(SearchLayouts, TheCheapestLayoutOfTheOutsideIsAssumed) {
  Chain chain;
  chain.graph.buffers.front().fixed = {};
  chain.graph.buffers.back().fixed = {};
  chain.graph.from_outside = {0};
  chain.graph.to_outside = {4};
  chain.offer(0, {chain.kernel(kPlain, kPlain, 9), chain.kernel(kBlocked, kBlocked, 8)});
  chain.offer(3, {chain.kernel(kPlain, kPlain, 9), chain.kernel(kBlocked, kBlocked, 8)});
  chain.reorders_take(5);
  ASSERT_TRUE(find_rows(chain.graph, chain.machine, chain.table));
  auto search = [&](LayoutSet ends) {
    return search_with_ends(chain.graph, chain.machine, chain.table, ends);
  };
  LayoutSet both = kPlain;
  both.insert(kBlocked);
  EXPECT_EQ(search(kPlain), std::vector(5, kPlain));
  EXPECT_EQ(search(both), std::vector(5, kBlocked));
}

/// Tiles of two kinds write two sums. The kernel that is best for the first kind leaves the first
/// sum as the second kind can only together with the second sum, which the first kind cannot.
TEST(SearchLayouts, SumsOfSeveralKindsOfTilesLieAsAllWritersCan) {
  TensorSpec spec{{2, 16, 4, 4}, DType::f32};
  UnitGraph graph;
  KernelTable table;
  for (std::int32_t kind : {0, 1}) {
    std::int32_t from = 3 * kind;
    for (int each = 0; each < 3; ++each) graph.buffers.push_back({.spec = spec});
    graph.buffers[as_index(from)].fixed = kPlain;
    graph.units.push_back(
        {.job = 0,
         .kind = kind,
         .leader = kind,
         .device = DeviceId(0u),
         .key = {Pool2d{.kind = kind == 0 ? PoolKind::max : PoolKind::average},
                 {spec},
                 Phase::forward,
                 {}},
         .uses = {{from, Access::read}, {from + 1, Access::write}, {from + 2, Access::write}}});
    Layout second = kind == 0 ? kPlain : kBlocked;
    table.of("").insert(
        graph.units.back().key,
        {{.algorithm = "plain", .layouts = {kPlain, kPlain, kPlain}, .time = SimTime{100}},
         {.algorithm = "blocked", .layouts = {kPlain, kBlocked, second}, .time = SimTime{1}}});
  }
  graph.tied = {{1, 4}, {2, 5}};
  Machine machine{{{.name = "device"}}};
  ASSERT_TRUE(find_rows(graph, machine, table));
  for (const KernelChoice& choice : search_layouts(graph, machine, table).kernels)
    EXPECT_EQ(choice.algorithm, "plain");
}

/// Two devices pool, each for itself; the host reads what the second has, which is plain.
TEST(SearchLayouts, ReplicasOfATileTakeOneKernelThatSuitsAllOfThem) {
  TensorSpec spec{{2, 16, 4, 4}, DType::f32};
  UnitGraph graph;
  for (std::int32_t device : {0, 1}) {
    std::int32_t from = 2 * device, to = 2 * device + 1;
    graph.buffers.push_back({.spec = spec, .fixed = kPlain});
    graph.buffers.push_back({.spec = spec});
    graph.units.push_back({.job = 0,
                           .kind = device,
                           .leader = device,
                           .device = DeviceId(as_index(device)),
                           .key = {Pool2d{}, {spec}, Phase::forward, {}},
                           .uses = {{from, Access::read}, {to, Access::write}}});
  }
  graph.buffers.back().fixed = kPlain;
  KernelTable table;
  table.of("").insert(graph.units[0].key,
                      {Chain::kernel(kPlain, kPlain, 100), Chain::kernel(kPlain, kBlocked, 1)});
  Machine machine{{{.name = "a"}, {.name = "b"}}};
  ASSERT_TRUE(find_rows(graph, machine, table));
  EXPECT_EQ(written(search_layouts(graph, machine, table)), (std::vector{kBlocked, kPlain}));
  graph.units[1].leader = 0;
  EXPECT_EQ(written(search_layouts(graph, machine, table)), (std::vector{kPlain, kPlain}));
}

}  // namespace
}  // namespace troika
