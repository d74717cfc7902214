// The time to lower a model for all devices, data parallel with one sample on each. Every rank does
// so when it starts, so the time must not grow faster than the number of devices.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "lower/testing/lowered.h"
#include "strategy/ready.h"
#include "strategy/tiles.h"
#include "zoo/zoo.h"

namespace troika {
namespace {

/// Full-sized, with made-up kernel times.
struct DataParallelModel : Lowered {
  DataParallelModel(const std::string& name, std::int64_t devices) {
    zoo::ModelRequest asked{.name = name};
    asked.samples.batch = devices;
    graph = zoo::build(asked).train();
    machine.devices.assign(static_cast<std::size_t>(devices), {.name = "cpu"});
    strategy = data_parallel(graph, machine);
    optimizer.rules.clear();
    for (const Parameter& parameter : graph.parameters)
      if (parameter.trained && !parameter.state)
        optimizer.rules.emplace(parameter.name, Sgd{.momentum = 0.9});
  }
};

void lower_again(benchmark::State& state, Lowered& model) {
  LowerRequest asked = model.request();
  asked.outputs.clear();
  KernelTable table = model.kernels.answer(rows_needed(asked));
  for (auto iteration : state) {
    LowerResult result = lower(asked, table);
    state.counters["tasks"] = static_cast<double>(std::get<TaskGraph>(result).tasks.size());
  }
}

void lower_model(benchmark::State& state, const std::string& name, bool sliced_update) {
  DataParallelModel model(name, state.range(0));
  model.strategy.sync.sliced_update = sliced_update;
  lower_again(state, model);
}

/// One activation has columns of all samples, so that every device has a block for every other.
void lower_columns(benchmark::State& state) {
  DataParallelModel model("vgg16", state.range(0));
  auto relu = std::ranges::find_if(model.graph.operators, [](const Operator& op) {
    return std::holds_alternative<Activation>(op.op);
  });
  model.strategy.splits.at(relu->name).factors = {{"v", state.range(0)}};
  lower_again(state, model);
}
BENCHMARK(lower_columns)->Arg(8)->Arg(56)->Arg(224)->Iterations(1)->Unit(benchmark::kMillisecond);

/// Whether a strategy fits, which every candidate of a search is asked first.
void validate_model(benchmark::State& state, const std::string& name) {
  DataParallelModel model(name, state.range(0));
  for (auto iteration : state)
    if (why_infeasible(model.strategy, model.graph, model.machine))
      state.SkipWithError("infeasible");
  state.counters["operators"] = static_cast<double>(model.graph.operators.size());
}
BENCHMARK_CAPTURE(validate_model, gpt2, "gpt2")->Arg(64)->Arg(9216)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(validate_model, inception_v3, "inception_v3")
    ->Arg(64)
    ->Arg(9216)
    ->Unit(benchmark::kMillisecond);

/// The tiles of all operators, which lowering begins with.
void map_model(benchmark::State& state, const std::string& name) {
  DataParallelModel model(name, state.range(0));
  std::vector<Signature> signatures;
  for (const Operator& op : model.graph.operators) signatures.push_back(signature(model.graph, op));
  std::size_t tiles = 0;
  for (auto iteration : state) {
    tiles = 0;
    for (std::size_t at = 0; at < signatures.size(); ++at) {
      const Split& split = split_of(model.strategy, model.graph.operators[at].name);
      tiles += map_tiles(signatures[at], split, {}).device.size();
    }
  }
  state.counters["tiles"] = static_cast<double>(tiles);
}
BENCHMARK_CAPTURE(map_model, gpt2, "gpt2")->Arg(64)->Arg(9216)->Unit(benchmark::kMillisecond);

#define TROIKA_LOWERING(name, ...)                  \
  BENCHMARK_CAPTURE(lower_model, name, __VA_ARGS__) \
      ->Arg(8)                                      \
      ->Arg(64)                                     \
      ->Arg(512)                                    \
      ->Iterations(1)                               \
      ->Unit(benchmark::kMillisecond)

TROIKA_LOWERING(mlp, "mlp", false);
TROIKA_LOWERING(vgg16, "vgg16", false);
TROIKA_LOWERING(vgg16_sliced, "vgg16", true);
TROIKA_LOWERING(gpt2, "gpt2", false);

}  // namespace
}  // namespace troika
