// The overhead of the executor per task: programs of many tasks whose kernels do nothing, and of
// many messages of one number between two devices.
#include <benchmark/benchmark.h>

#include "comm/threads/thread_transport.h"
#include "device/cpu/cpu_device.h"
#include "runtime/session.h"

namespace troika {
namespace {

class EmptyKernel final : public Kernel {
 public:
  void launch(std::span<const DevicePointer> operands, DevicePointer scratch,
              std::span<const std::int64_t>) override {
    benchmark::DoNotOptimize(operands.data());
    benchmark::DoNotOptimize(scratch);
  }
};

class EmptyBackend final : public Backend {
 public:
  std::string name() const override { return "empty"; }
  std::vector<Candidate> candidates(const KernelKey&) const override { return {}; }
  std::unique_ptr<Kernel> compile(const KernelKey&, const Candidate&) const override {
    return std::make_unique<EmptyKernel>();
  }
};

TaskGraph many_tasks(int count) {
  TaskGraph graph{.name = "many", .arena = {Bytes{128}}};
  TensorSpec spec{{4}, DType::f32};
  for (const char* name : {"a", "b"})
    graph.buffers.push_back({.name = name, .spec = spec, .device = DeviceId(0u)});
  for (int at = 0; at < count; ++at)
    graph.tasks.push_back({.id = {0, at},
                           .name = "task",
                           .device = DeviceId(0u),
                           .key = {Activation{}, {spec}, Phase::forward, {}},
                           .choice = {"empty", std::vector<Layout>(2), {}, {}},
                           .uses = {{BufferId(0u), Access::read}, {BufferId(1u), Access::write}}});
  return graph;
}

/// One task: what handing a program over to the device and waiting for it takes.
void run_tasks(benchmark::State& state) {
  auto device = make_cpu_device({.threads = 1});
  EmptyBackend backend;
  Session session({.devices = {{DeviceId(0u), device.get()}}}, backend);
  session.add(many_tasks(static_cast<int>(state.range(0))));
  session.start();
  for (auto _ : state) session.run("many");
  state.counters["per_task"] =
      benchmark::Counter(static_cast<double>(state.iterations() * state.range(0)),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(run_tasks)->Arg(1)->Arg(1000)->UseRealTime()->Unit(benchmark::kMicrosecond);

TaskGraph many_messages(int count) {
  TaskGraph graph{.name = "many", .arena = {Bytes{64}, Bytes{64}}};
  TensorSpec spec{{1}, DType::f32};
  for (std::size_t device = 0; device < 2; ++device)
    graph.buffers.push_back({.name = "x", .spec = spec, .device = DeviceId(device)});
  for (int at = 0; at < count; ++at) {
    graph.communications.push_back({.name = "sum",
                                    .call = equal_parts(Collective::all_reduce, 2, 1),
                                    .devices = {DeviceId(0u), DeviceId(1u)},
                                    .buffers = {BufferId(0u), BufferId(1u)},
                                    .algorithm = "recursive_doubling"});
    for (TaskKind kind : {TaskKind::start, TaskKind::finish})
      for (int member = 0; member < 2; ++member) {
        auto index = static_cast<std::size_t>(member);
        graph.tasks.push_back({.id = {0, static_cast<std::int32_t>(graph.tasks.size())},
                               .name = "sum",
                               .device = DeviceId(index),
                               .uses = {{BufferId(index), Access::update}},
                               .kind = kind,
                               .communication = CommunicationId(static_cast<std::size_t>(at)),
                               .member = member});
      }
  }
  return graph;
}

/// Both devices meet in every message, so this is the executor and the message itself.
void run_messages(benchmark::State& state) {
  auto first = make_cpu_device({.threads = 1}), second = make_cpu_device({.threads = 1});
  EmptyBackend backend;
  ThreadTransport transport;
  Session session({.devices = {{DeviceId(0u), first.get()}, {DeviceId(1u), second.get()}},
                   .transport = &transport},
                  backend);
  session.add(many_messages(static_cast<int>(state.range(0))));
  session.start();
  for (auto _ : state) session.run("many");
  state.counters["per_message"] =
      benchmark::Counter(static_cast<double>(state.iterations() * state.range(0)),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(run_messages)->Arg(1000)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace troika
