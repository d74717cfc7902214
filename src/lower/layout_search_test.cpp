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
    for (const char* name : {"x", "v0", "v1", "v2", "y"}) {
      graph.buffers.push_back({.name = name, .spec = spec, .device = DeviceId(0u)});
    }
    graph.buffers.back().held = true;
    graph.inputs["x"] = BufferId(0u);
    add(Pool2d{}, 0);
    add(Activation{.kind = ActivationKind::relu}, 1);
    add(Activation{.kind = ActivationKind::tanh}, 2);
    add(Pool2d{.kind = PoolKind::average}, 3);
    table.of("").insert(graph.tasks[1].key, {flat()});
    table.of("").insert(graph.tasks[2].key, {flat()});
  }

  void offer(std::size_t task, std::vector<Candidate> candidates) {
    table.of("").insert(graph.tasks[task].key, std::move(candidates));
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
  LayoutChoices search() { return search_layouts(graph, table, {machine, storage}); }

  TensorSpec spec{{2, 16, 4, 4}, DType::f32};
  TaskGraph graph;
  KernelTable table;
  Machine machine{{{.name = "device"}}};
  std::vector<StoredSlice> storage;

 private:
  void add(const Op& op, std::size_t from) {
    graph.tasks.push_back(
        {.name = std::string(name_of(op)),
         .device = DeviceId(0u),
         .key = {op, {spec}, Phase::forward, {}},
         .uses = {{BufferId(from), Access::read}, {BufferId(from + 1), Access::write}}});
  }
};

std::vector<Layout> written(const LayoutChoices& choices) {
  std::vector<Layout> layouts;
  for (const KernelChoice& choice : choices.tasks) layouts.push_back(choice.layouts.back());
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
  EXPECT_EQ(choices.tasks[0].layouts.back(), kPlain);
  EXPECT_EQ(choices.tasks[3].layouts.front(), kBlocked);
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

/// Two devices pool, each for itself; the host reads what the second has, which is plain.
TEST(SearchLayouts, ReplicasOfATileTakeOneKernelThatSuitsAllOfThem) {
  TensorSpec spec{{2, 16, 4, 4}, DType::f32};
  TaskGraph graph;
  for (std::uint32_t device : {0u, 1u}) {
    BufferId from(2 * device), to(2 * device + 1);
    graph.buffers.push_back({.name = "x", .spec = spec, .device = DeviceId(device)});
    graph.buffers.push_back({.name = "y", .spec = spec, .device = DeviceId(device)});
    graph.inputs["x" + std::to_string(device)] = from;
    graph.tasks.push_back({.id = {0, static_cast<std::int32_t>(device)},
                           .name = "pool/" + std::to_string(device),
                           .device = DeviceId(device),
                           .key = {Pool2d{}, {spec}, Phase::forward, {}},
                           .uses = {{from, Access::read}, {to, Access::write}}});
  }
  graph.buffers.back().held = true;
  KernelTable table;
  table.of("").insert(graph.tasks[0].key,
                      {Chain::kernel(kPlain, kPlain, 100), Chain::kernel(kPlain, kBlocked, 1)});
  Machine machine{{{.name = "a"}, {.name = "b"}}};
  EXPECT_EQ(written(search_layouts(graph, table, {machine, {}})), (std::vector{kBlocked, kPlain}));
  graph.tasks[1].replica = 1;
  EXPECT_EQ(written(search_layouts(graph, table, {machine, {}})), (std::vector{kPlain, kPlain}));
}

}  // namespace
}  // namespace troika
