// Every kernel that the CPU backend offers for the 3x3 convolutions of VGG-16 and ResNet-50 and for
// some with larger windows (the first two are AlexNet's and Inception's), in all three phases:
// billions of operations per second as a direct convolution counts them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "kernels/cpu/cpu.h"
#include "kernels/kernel.h"
#include "ops/op.h"

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

/// The key's operands and scratch, and the kernel; the values do not matter, but must be normal.
class Prepared {
 public:
  Prepared(const Backend& backend, const KernelKey& key, const Candidate& candidate)
      : kernel_(backend.compile(key, candidate)) {
    std::vector<Operand> list = operands_of(key);
    for (std::size_t at = 0; at < list.size(); ++at)
      operands_.push_back(
          reserve(stored_bytes(candidate.layouts[at], list[at].spec.shape, DType::f32)));
    scratch_ = reserve(candidate.scratch);
  }
  void launch() { kernel_->launch(operands_, scratch_); }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  DevicePointer reserve(Bytes bytes) {
    std::size_t size = (static_cast<std::size_t>(bytes.count) / 64 + 1) * 64;
    auto* memory = static_cast<float*>(std::aligned_alloc(64, size));
    if (memory == nullptr) throw std::bad_alloc();
    std::fill_n(memory, size / sizeof(float), 0.01f);
    held_.emplace_back(memory);
    return reinterpret_cast<DevicePointer>(memory);
  }

  std::vector<std::unique_ptr<float, Free>> held_;
  std::vector<DevicePointer> operands_;
  DevicePointer scratch_ = nullptr;
  std::unique_ptr<Kernel> kernel_;
};

void run(benchmark::State& state, const Backend& backend, const KernelKey& key,
         const Candidate& candidate, double operations) {
  Prepared prepared(backend, key, candidate);
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
