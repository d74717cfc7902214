// Every kernel that the CPU backend offers for the linear layers of mlp, gpt2 and rnnlm, in all
// three phases, on one thread. The rate is that of processor time, so other work on the machine
// disturbs it little. ONEDNN_MAX_CPU_ISA=AVX2 limits oneDNN's and our kernels to AVX2.
#include <benchmark/benchmark.h>

#include <string>

#include "kernels/cpu/cpu.h"
#include "ops/op.h"
#include "prepared_kernel.h"

namespace troika {
namespace {

struct LinearLayer {
  const char* name;
  std::int64_t rows, outputs, inputs;
};
constexpr LinearLayer kLinearLayers[] = {
    {"mlp.fc1", 256, 2048, 784},   {"mlp.fc2", 256, 2048, 2048},  {"gpt2.qkv", 1024, 2304, 768},
    {"gpt2.fc1", 1024, 3072, 768}, {"gpt2.fc2", 1024, 768, 3072}, {"rnnlm.w", 1120, 10000, 650},
    {"square", 1536, 1536, 1536}};

KernelKey key_of(const LinearLayer& layer, Phase phase) {
  return {Linear{.out = layer.outputs}, {{{layer.rows, layer.inputs}, DType::f32}}, phase, {}};
}

void run(benchmark::State& state, const Backend& backend, const KernelKey& key,
         const Candidate& candidate) {
  PreparedKernel prepared(backend, key, candidate);
  prepared.launch();
  for (auto _ : state) prepared.launch();
  state.counters["GFLOP/s"] = benchmark::Counter(static_cast<double>(flops_of(key).count) * 1e-9,
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

void register_all(const Backend& backend) {
  for (const LinearLayer& layer : kLinearLayers) {
    for (Phase phase : {Phase::forward, Phase::backward_data, Phase::backward_weight}) {
      KernelKey key = key_of(layer, phase);
      for (const Candidate& candidate : backend.candidates(key)) {
        std::string name = std::string(layer.name) + "/" + std::string(to_string(phase)) + "/" +
                           candidate.algorithm;
        for (Layout layout : candidate.layouts)
          if (layout != Layout::plain) name += " " + std::string(to_string(layout));
        benchmark::RegisterBenchmark(name.c_str(), [&backend, key,
                                                    candidate](benchmark::State& state) {
          run(state, backend, key, candidate);
        })->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace
}  // namespace troika

int main(int count, char** arguments) {
  auto backend = troika::make_cpu_backend({.threads = 1});
  troika::register_all(*backend);
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
}
