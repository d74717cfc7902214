// Every kernel that the CPU backend offers for the 3x3 convolutions of VGG-16 and ResNet-50 and for
// some with larger windows (the first two are AlexNet's and Inception's), in all three phases.
// Rates count the operations of a direct convolution.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <thread>

#include "kernels/cpu/cpu.h"
#include "ops/op.h"
#include "prepared_kernel.h"

namespace troika {
namespace {

struct Layer {
  std::int64_t channels, side, window = 3, out = channels, batch = 8;
};
constexpr Layer kLayers[] = {{64, 56},
                             {128, 28},
                             {256, 14},
                             {512, 7},
                             {64, 224},
                             {128, 112},
                             {256, 56},
                             {512, 28},
                             {512, 14},
                             {.channels = 64, .side = 27, .window = 5, .out = 192, .batch = 32},
                             {.channels = 48, .side = 35, .window = 5, .out = 64},
                             {.channels = 64, .side = 56, .window = 7},
                             {.channels = 64, .side = 56, .window = 11},
                             {.channels = 32, .side = 56, .window = 31}};

KernelKey key_of(const Layer& layer, Phase phase) {
  std::int64_t pad = layer.window / 2;
  Conv2d op{.out = layer.out,
            .kernel = {layer.window, layer.window},
            .pad = {pad, pad},
            .pad_end = {pad, pad}};
  return {op, {{{layer.batch, layer.channels, layer.side, layer.side}, DType::f32}}, phase, {}};
}

double operations_of(const Layer& layer) {
  return 2.0 * static_cast<double>(layer.batch * layer.channels * layer.out * layer.side *
                                   layer.side * layer.window * layer.window);
}

std::string name_of(const Layer& layer) {
  std::string name = std::to_string(layer.channels) + "x" + std::to_string(layer.side);
  return layer.window == 3 ? name : name + " window " + std::to_string(layer.window);
}

void run(benchmark::State& state, const Backend& backend, const KernelKey& key,
         const Candidate& candidate, double operations) {
  PreparedKernel prepared(backend, key, candidate);
  prepared.launch();
  for (auto _ : state) prepared.launch();
  state.counters["GFLOP/s"] =
      benchmark::Counter(operations * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void register_all(const Backend& backend) {
  for (const Layer& layer : kLayers) {
    double operations = operations_of(layer);
    for (Phase phase : {Phase::forward, Phase::backward_data, Phase::backward_weight}) {
      KernelKey key = key_of(layer, phase);
      for (const Candidate& candidate : backend.candidates(key)) {
        if (candidate.layouts[0] != Layout::blocked16 && candidate.layouts[0] != Layout::blocked8)
          continue;
        std::string name =
            name_of(layer) + "/" + std::string(to_string(phase)) + "/" + candidate.algorithm;
        for (Layout layout : candidate.layouts) name += " " + std::string(to_string(layout));
        benchmark::RegisterBenchmark(
            name.c_str(),
            [&backend, key, candidate, operations](benchmark::State& state) {
              run(state, backend, key, candidate, operations);
            })
            ->Unit(benchmark::kMillisecond)
            ->UseRealTime();
      }
    }
  }
}

}  // namespace
}  // namespace troika

int main(int count, char** arguments) {
  auto threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  auto backend = troika::make_cpu_backend({.threads = threads});
  troika::register_all(*backend);
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
}
