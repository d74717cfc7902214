// Messages go on while the device computes, also those that were started long before.
#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <thread>

#include "collective/algorithms.h"
#include "comm/communicator.h"
#include "comm/threads/thread_transport.h"
#include "device/cpu/cpu_device.h"
#include "kernels/reference/reference.h"
#include "runtime/executor.h"

namespace troika {
namespace {

constexpr std::int64_t kLarge = 1 << 20, kSmall = 16;  // elements
constexpr int kKernels = 64;

/// On each of two devices: a large message starts, then a small and more urgent one; kernels; both
/// finish.
TaskGraph two_messages() {
  TaskGraph graph{.name = "step"};
  auto buffer = [&](const std::string& name, DeviceId device, std::int64_t count) {
    graph.buffers.push_back({.name = name, .spec = {{count}, DType::f32}, .device = device});
    return BufferId(graph.buffers.size() - 1);
  };
  auto add_task = [&](Task task) {
    task.id = {0, static_cast<std::int32_t>(graph.tasks.size())};
    graph.tasks.push_back(std::move(task));
  };
  for (std::int64_t count : {kLarge, kSmall}) {
    Communication sum{.name = count == kLarge ? "large" : "small",
                      .call = equal_parts(Collective::all_reduce, 2, count),
                      .algorithm = "ring",
                      .urgency = count == kLarge ? 0u : 1u};
    for (std::size_t device : {0u, 1u}) {
      sum.devices.emplace_back(device);
      sum.buffers.push_back(buffer(sum.name, DeviceId(device), count));
    }
    graph.communications.push_back(sum);
  }
  auto add_messages = [&](TaskKind kind) {
    for (std::size_t at = 0; at < graph.communications.size(); ++at)
      for (std::size_t device : {0u, 1u})
        add_task({.device = DeviceId(device),
                  .uses = {{graph.communications[at].buffers[device], Access::update}},
                  .kind = kind,
                  .communication = CommunicationId(at),
                  .member = static_cast<int>(device)});
  };
  add_messages(TaskKind::start);
  for (std::size_t device : {0u, 1u}) {
    const TensorSpec one{{1}, DType::f32};
    BufferId x = buffer("x", DeviceId(device), 1), y = buffer("y", DeviceId(device), 1);
    for (int at = 0; at < kKernels; ++at)
      add_task({.device = DeviceId(device),
                .key = {Sum{.count = 2}, {one, one}, Phase::forward, {}},
                .choice = {"reference", std::vector<Layout>(3), {}, {}},
                .uses = {{x, Access::read}, {x, Access::read}, {y, Access::write}}});
  }
  add_messages(TaskKind::finish);
  return graph;
}

class Overlap : public testing::TestWithParam<bool> {};

TEST_P(Overlap, AnOldLargeMessageIsDoneBehindKernelsAlthoughANewSmallOneCameAndWent) {
  const TaskGraph graph = two_messages();
  auto backend = make_reference_backend();
  ThreadTransport transport;
  std::barrier both(2);
  auto run_device = [&](std::size_t device) {
    MoveScheduler scheduler(transport, DeviceId(device),
                            {.thread = GetParam() ? MoverThread::own_core : MoverThread::none});
    Communicator communicator(scheduler, {DeviceId(0u), DeviceId(1u)});
    std::vector<std::vector<float>> memory;
    for (const BufferSpec& buffer : graph.buffers)
      memory.emplace_back(static_cast<std::size_t>(buffer.spec.shape.elements()), 1.0F);
    std::function<DevicePointer(BufferId)> address = [&](BufferId id) {
      return reinterpret_cast<DevicePointer>(memory[id.index()].data());
    };
    std::vector<Operation*> operations;
    std::function<std::unique_ptr<Operation>(CommunicationId, int)> prepare =
        [&](CommunicationId id, int member) {
          const Communication& sum = graph[id];
          std::vector<float>& vector =
              memory[sum.buffers[static_cast<std::size_t>(member)].index()];
          auto made = communicator.prepare(make_recipe(sum.call, sum.algorithm),
                                           {std::as_writable_bytes(std::span(vector)), {}});
          operations.push_back(made.get());
          return made;
        };
    KernelCache kernels(*backend);
    Executor executor(graph, {DeviceId(device), kernels, address, prepare, &scheduler});
    int kernel = 0, large_done = kKernels, small_done = kKernels;
    executor.run_watched([&](std::size_t) {
      both.arrive_and_wait();  // neither device is ahead of the other
      ++kernel;
      // The own thread goes on by the clock, not by kernels.
      for (int times = 0; GetParam() && kernel == kKernels - 1 && times < 20'000; ++times)
        if (!operations[0]->is_done()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (operations[0]->is_done()) large_done = std::min(large_done, kernel);
      if (operations[1]->is_done()) small_done = std::min(small_done, kernel);
      return true;
    });
    EXPECT_LT(small_done, kKernels);
    EXPECT_LT(large_done, kKernels);
    EXPECT_EQ(memory[graph.communications[0].buffers[device].index()][kLarge - 1], 2.0F);
  };
  std::jthread other([&] { run_device(1); });
  run_device(0);
}

INSTANTIATE_TEST_SUITE_P(OwnThread, Overlap, testing::Bool());

}  // namespace
}  // namespace troika
