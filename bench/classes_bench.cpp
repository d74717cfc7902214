// The time to find the classes of 9,216 devices from what lowering knows of a large model: 50
// aspects, of which 20 have communications.
#include <benchmark/benchmark.h>

#include <vector>

#include "lower/classes.h"
#include "machine/cluster.h"

namespace troika {
namespace {

constexpr std::int32_t kEach = 8;  // devices of a node

Machine cluster_of(std::int32_t devices, bool linked) {
  Machine machine = make_machine({.nodes = {{.count = devices / kEach,
                                             .devices = kEach,
                                             .ranks = kEach,
                                             .kind = "cuda sm_90, one per process"}},
                                  .network = {.nodes_per_switch = 16}});
  if (!linked) machine.links.clear(), machine.hubs.clear();
  return machine;
}

/// `count` communications, the members of each `stride` devices apart.
Exchanges groups(std::int32_t devices, std::int32_t count, std::int32_t stride) {
  Exchanges exchanges{.shape = 1};
  std::int32_t size = devices / count;
  for (std::int32_t group = 0; group < count; ++group) {
    std::int32_t first = group / stride * stride * size + group % stride;
    for (std::int32_t i = 0; i < size; ++i) exchanges.members.push_back({first + i * stride, 0});
    exchanges.ends.push_back(static_cast<std::int32_t>(exchanges.members.size()));
  }
  return exchanges;
}

/// Neighbours inside a node exchange borders, so that the classes come from the border inwards.
Exchanges halos(std::int32_t devices) {
  Exchanges exchanges{.shape = 2};
  for (std::int32_t i = 0; i + 1 < devices; ++i) {
    if (i % kEach == kEach - 1) continue;
    exchanges.members.insert(exchanges.members.end(), {{i, 0}, {i + 1, 1}, {i + 1, 2}, {i, 3}});
    auto end = static_cast<std::int32_t>(exchanges.members.size());
    exchanges.ends.insert(exchanges.ends.end(), {end - 2, end});
  }
  return exchanges;
}

void find_all(benchmark::State& state, bool linked, const std::vector<Exchanges>& kinds) {
  auto devices = static_cast<std::int32_t>(state.range(0));
  Machine machine = cluster_of(devices, linked);
  std::vector<Aspect> aspects(50);
  std::vector<const Aspect*> given;
  for (std::size_t i = 0; i < aspects.size(); ++i) {
    aspects[i].own.assign(as_index(devices), i);
    if (i < 20) aspects[i].exchanges = {kinds[i % kinds.size()]};
    given.push_back(&aspects[i]);
  }
  for (auto iteration : state)
    state.counters["classes"] = find_partition(machine, given).devices.count();
}

void data(benchmark::State& state, bool linked) {
  auto devices = static_cast<std::int32_t>(state.range(0));
  find_all(state, linked, {groups(devices, 1, 1)});
}
void tensor_times_data(benchmark::State& state, bool linked) {
  auto devices = static_cast<std::int32_t>(state.range(0));
  find_all(state, linked, {groups(devices, devices / kEach, 1), groups(devices, kEach, kEach)});
}
void spatial_times_data(benchmark::State& state, bool linked) {
  auto devices = static_cast<std::int32_t>(state.range(0));
  find_all(state, linked, {halos(devices), groups(devices, 1, 1)});
}

#define TROIKA_CLASSES(plan)                                                               \
  BENCHMARK_CAPTURE(plan, links, true)->Arg(64)->Arg(9216)->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(plan, no_links, false)->Arg(9216)->Unit(benchmark::kMillisecond)

TROIKA_CLASSES(data);
TROIKA_CLASSES(tensor_times_data);
TROIKA_CLASSES(spatial_times_data);

}  // namespace
}  // namespace troika
