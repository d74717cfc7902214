// The time to find how a tensor gets from its writers to its readers. Lowering does so for every
// tensor whose splits are new, so it must cost microseconds where little happens and about one per
// buffer, step and member where much does.
#include <benchmark/benchmark.h>

#include "base/random.h"
#include "lower/redistribution.h"

namespace troika {
namespace {

struct Case {
  RedistributionRequest request;
  std::vector<std::int32_t> process, node;

  Case(int dims, std::int32_t extent, std::int32_t devices) {
    request.frame.dims = dims;
    for (int dim = 0; dim < dims; ++dim) request.frame.extents[dim] = extent;
    for (std::int32_t device = 0; device < devices; ++device) {
      process.push_back(device);
      node.push_back(device / 8);
    }
  }

  std::int32_t add_box(std::array<std::int32_t, 2> first, std::array<std::int32_t, 2> second = {}) {
    Box box;
    std::ranges::copy(std::array{first[0], second[0]}, box.begin.begin());
    std::ranges::copy(std::array{first[1], second[1]}, box.end.begin());
    request.boxes.push_back(box);
    return static_cast<std::int32_t>(request.boxes.size()) - 1;
  }
};

void redistribute_again(benchmark::State& state, const Case& made) {
  Redistribution result;
  for (auto iteration : state)
    benchmark::DoNotOptimize(result = redistribute(made.request, {made.process, made.node}));
  std::size_t produced = result.buffers.size() + result.steps.size() + result.members.size();
  state.counters["produced"] = static_cast<double>(produced);
  state.counters["each"] = benchmark::Counter(
      static_cast<double>(produced),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

/// Every device reads what it wrote.
void data_parallel(benchmark::State& state) {
  auto devices = static_cast<std::int32_t>(state.range(0));
  Case made(1, devices, devices);
  Contribution from;
  for (std::int32_t device = 0; device < devices; ++device) {
    from.tiles.push_back({device, made.add_box({device, device + 1})});
    from.terms.push_back(0);
  }
  made.request.readers = {from.tiles, from.tiles};
  made.request.from = {from};
  redistribute_again(state, made);
}

/// Groups of devices, each with a box of its own and a term of it per device, all read by all.
void all_reduce(benchmark::State& state) {
  auto groups = static_cast<std::int32_t>(state.range(0));
  auto each = static_cast<std::int32_t>(state.range(1));
  Case made(1, groups, groups * each);
  Contribution from{.term_count = each};
  for (std::int32_t group = 0; group < groups; ++group) made.add_box({group, group + 1});
  for (std::int32_t device = 0; device < groups * each; ++device) {
    from.tiles.push_back({device, device / each});
    from.terms.push_back(device % each);
  }
  made.request.readers = {from.tiles};
  made.request.from = {from};
  redistribute_again(state, made);
}

/// Groups of devices that each hold a part and need the group's whole.
void all_gather(benchmark::State& state) {
  auto groups = static_cast<std::int32_t>(state.range(0));
  auto each = static_cast<std::int32_t>(state.range(1));
  Case made(1, groups * each, groups * each);
  Contribution from;
  std::vector<Touch> reader;
  for (std::int32_t group = 0; group < groups; ++group)
    made.add_box({group * each, (group + 1) * each});
  for (std::int32_t device = 0; device < groups * each; ++device) {
    from.tiles.push_back({device, made.add_box({device, device + 1})});
    from.terms.push_back(0);
    reader.push_back({device, device / each});
  }
  made.request.readers = {reader};
  made.request.from = {from};
  redistribute_again(state, made);
}

/// Rows with one row of each neighbour.
void halo(benchmark::State& state) {
  auto devices = static_cast<std::int32_t>(state.range(0));
  Case made(1, 4 * devices, devices);
  Contribution from;
  std::vector<Touch> reader;
  for (std::int32_t device = 0; device < devices; ++device) {
    from.tiles.push_back({device, made.add_box({4 * device, 4 * device + 4})});
    from.terms.push_back(0);
    reader.push_back({device, made.add_box({std::max(4 * device - 1, 0),
                                            std::min(4 * device + 5, 4 * devices)})});
  }
  made.request.readers = {reader};
  made.request.from = {from};
  redistribute_again(state, made);
}

/// A weight that few hold and all read.
void broadcast(benchmark::State& state) {
  auto devices = static_cast<std::int32_t>(state.range(0));
  Case made(0, 1, devices);
  std::int32_t whole = made.add_box({0, 0});
  Contribution from;
  std::vector<Touch> reader;
  for (std::int32_t device = 0; device < devices; ++device) {
    reader.push_back({device, whole});
    if (device % 8 != 0) continue;
    from.tiles.push_back({device, whole});
    from.terms.push_back(0);
  }
  made.request.readers = {reader};
  made.request.from = {from};
  redistribute_again(state, made);
}

/// Tiles of one grid on random devices against tiles of another one on random devices.
void random_placement(benchmark::State& state) {
  auto parts = static_cast<std::int32_t>(state.range(0));
  auto terms = static_cast<std::int32_t>(state.range(1));
  Case made(2, 240, 64);
  RandomStream random{.key = 7};
  std::uint64_t drawn = 0;
  auto grid = [&](std::int32_t rows, std::vector<Touch>& tiles) {
    std::int32_t columns = parts / rows;
    for (std::int32_t at = 0; at < parts; ++at) {
      std::int32_t row = at / columns, column = at % columns;
      std::int32_t box = made.add_box({row * 240 / rows, (row + 1) * 240 / rows},
                                      {column * 240 / columns, (column + 1) * 240 / columns});
      tiles.push_back({static_cast<std::int32_t>(random.below(drawn++, 64)), box});
    }
  };
  Contribution from{.term_count = terms};
  std::vector<Touch> written;
  grid(8, written);
  for (std::int32_t term = 0; term < terms; ++term) {
    for (Touch tile : written) {
      tile.device = (tile.device + 5 * term) % 64;
      from.tiles.push_back(tile);
      from.terms.push_back(term);
    }
  }
  made.request.readers.resize(1);
  grid(4, made.request.readers[0]);
  made.request.from = {from};
  redistribute_again(state, made);
}

BENCHMARK(data_parallel)->Arg(8)->Arg(512)->Arg(9216)->Unit(benchmark::kMicrosecond);
BENCHMARK(all_reduce)
    ->Args({1, 8})
    ->Args({1, 9216})
    ->Args({1152, 8})
    ->Args({8, 1152})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(all_gather)
    ->Args({1, 8})
    ->Args({1, 9216})
    ->Args({1152, 8})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(halo)->Arg(8)->Arg(9216)->Unit(benchmark::kMicrosecond);
BENCHMARK(broadcast)->Arg(8)->Arg(9216)->Unit(benchmark::kMicrosecond);
BENCHMARK(random_placement)->Args({64, 1})->Args({64, 4})->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace troika
