// A session that drives several devices of one process.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "comm/threads/thread_transport.h"
#include "device/cpu/cpu_device.h"
#include "kernels/reference/reference.h"
#include "runtime/session.h"
#include "taskgraph/verify.h"

namespace troika {
namespace {

constexpr std::int64_t kEach = 3;

/// Every device doubles its part of x; an all-reduce adds these up; every device adds its own part.
TaskGraph doubled_and_added(int devices) {
  TaskGraph graph{.name = "step"};
  const TensorSpec part{{kEach}, DType::f32};
  Communication sum{.name = "sum",
                    .call = equal_parts(Collective::all_reduce, devices, kEach),
                    .dtype = DType::f32,
                    .algorithm = "ring"};
  std::int32_t next = 0;
  auto buffer = [&](const std::string& name, DeviceId device, std::int64_t offset) {
    graph.buffers.push_back({.name = name + std::to_string(device.value),
                             .spec = part,
                             .device = device,
                             .offset = {offset}});
    return BufferId(graph.buffers.size() - 1);
  };
  auto add = [&](BufferId a, BufferId b, BufferId to, DeviceId device) {
    Task task{.id = {0, next++}, .name = graph[to].name, .device = device};
    task.key = {Sum{.count = 2}, {part, part}, Phase::forward, {}};
    task.choice = {"reference", std::vector<Layout>(3), {}, {}};
    task.uses = {{a, Access::read}, {b, Access::read}, {to, Access::write}};
    graph.tasks.push_back(task);
  };
  std::vector<BufferId> inputs;
  for (int member = 0; member < devices; ++member) {
    DeviceId device(static_cast<std::size_t>(member));
    BufferId x = buffer("x", device, 0), doubled = buffer("doubled", device, 64);
    graph[x].part_of = "x";
    graph[x].region = {{{member * kEach, (member + 1) * kEach}}};
    graph[x].whole = {devices * kEach};
    graph.inputs[graph[x].name] = x;
    inputs.push_back(x);
    sum.devices.push_back(device);
    sum.buffers.push_back(doubled);
    graph.arena.push_back(Bytes{256});
    add(x, x, doubled, device);
  }
  graph.communications.push_back(sum);
  for (TaskKind kind : {TaskKind::start, TaskKind::finish})
    for (int member = 0; member < devices; ++member) {
      auto at = static_cast<std::size_t>(member);
      graph.tasks.push_back({.id = {0, next++},
                             .name = kind == TaskKind::start ? "sum start" : "sum",
                             .device = sum.devices[at],
                             .uses = {{sum.buffers[at], Access::update}},
                             .kind = kind,
                             .communication = CommunicationId(std::size_t{0}),
                             .member = member});
    }
  for (int member = 0; member < devices; ++member) {
    auto at = static_cast<std::size_t>(member);
    BufferId y = buffer("y", sum.devices[at], 128);
    graph[y].held = true;
    graph.outputs[graph[y].name] = y;
    add(sum.buffers[at], inputs[at], y, sum.devices[at]);
  }
  graph.dependencies = find_dependencies(graph);
  return graph;
}

/// With threads that move messages beside, too, in odd numbers.
class SeveralDevices : public testing::TestWithParam<int> {
 protected:
  SeveralDevices() {
    SessionDevices places{.transport = &transport_,
                          .mover = GetParam() % 2 == 1 ? MoverThread::own_core : MoverThread::none};
    for (int at = 0; at < GetParam(); ++at) {
      devices_.push_back(make_cpu_device({.threads = 1}));
      places.devices[DeviceId(static_cast<std::size_t>(at))] = devices_.back().get();
    }
    session_ = std::make_unique<Session>(places, *backend_);
    session_->add(doubled_and_added(GetParam()));
    session_->start();
  }

  std::vector<float> seeded(int step) const {
    std::vector<float> x(static_cast<std::size_t>(GetParam() * kEach));
    std::iota(x.begin(), x.end(), static_cast<float>(step));
    return x;
  }
  void step(const std::vector<float>& x) {
    session_->write_input("step", "x", std::as_bytes(std::span(x)));
    session_->run("step");
  }
  std::vector<float> output(int device) {
    std::vector<float> y(kEach);
    session_->read_output("step", "y" + std::to_string(device),
                          std::as_writable_bytes(std::span(y)));
    return y;
  }

  std::unique_ptr<Backend> backend_ = make_reference_backend();
  std::vector<std::unique_ptr<Device>> devices_;
  ThreadTransport transport_;
  std::unique_ptr<Session> session_;
};

TEST_P(SeveralDevices, TheGraphOfThisTestPassesTheVerifier) {
  EXPECT_NO_THROW(verify(doubled_and_added(GetParam()), Stage::placed));
}

TEST_P(SeveralDevices, EachGetsItsPartOfTheInputAndTheSumOfAll) {
  for (int number = 0; number < 3; ++number) {
    std::vector<float> x = seeded(number);
    step(x);
    for (int device = 0; device < GetParam(); ++device) {
      std::vector<float> y = output(device);
      for (std::int64_t i = 0; i < kEach; ++i) {
        float expected = x[static_cast<std::size_t>(device * kEach + i)];
        for (int other = 0; other < GetParam(); ++other)
          expected += 2 * x[static_cast<std::size_t>(other * kEach + i)];
        EXPECT_EQ(y[static_cast<std::size_t>(i)], expected) << "device " << device;
      }
    }
  }
}

TEST_P(SeveralDevices, TheTimelineHasEveryTaskOnItsDevice) {
  step(seeded(0));
  const TaskGraph& graph = session_->program("step");
  Timeline timeline = session_->timeline("step");
  ASSERT_EQ(timeline.spans.size(), graph.tasks.size());
  for (const Span& span : timeline.spans) {
    auto task = std::ranges::find(graph.tasks, span.task, &Task::id);
    EXPECT_EQ(span.device, task->device);
    EXPECT_LE(span.start, span.end);
  }
}

TEST_P(SeveralDevices, NothingIsAllocatedInAStep) {
  step(seeded(0));
  std::vector<std::int64_t> before;
  for (const auto& device : devices_) before.push_back(device->allocations());
  for (int number = 0; number < 10; ++number) session_->run("step");
  for (std::size_t at = 0; at < devices_.size(); ++at)
    EXPECT_EQ(devices_[at]->allocations(), before[at]);
}

TEST_P(SeveralDevices, TheMemoryOfEachIsItsArena) {
  for (const auto& device : devices_) EXPECT_EQ(device->allocated(), Bytes{256});
}

TEST_P(SeveralDevices, TheLedgerOfEachAddsUpToItsStep) {
  // Between the clock here and the one inside of run nothing happens, unless the system has other
  // plans for this thread: then the step is taken again.
  constexpr auto kSlack = std::chrono::microseconds(50);
  auto outside = std::chrono::nanoseconds::max();
  for (int times = 0; times < 1000 && outside > kSlack; ++times) {
    session_->write_input("step", "x", std::as_bytes(std::span<const float>(seeded(0))));
    auto start = std::chrono::steady_clock::now();
    session_->run("step");
    auto took = std::chrono::steady_clock::now() - start;
    auto ledgers = session_->ledgers("step");
    ASSERT_EQ(ledgers.size(), static_cast<std::size_t>(GetParam()));
    for (const auto& [device, ledger] : ledgers) {
      EXPECT_GT(ledger.compute.count(), 0);
      EXPECT_EQ(ledger.optimizer.count(), 0);
      EXPECT_GE(ledger.waiting.count(), 0);
      EXPECT_GE(ledger.other.count(), 0);
      EXPECT_LE(ledger.total(), took);
      outside = took - ledger.total();
    }
  }
  EXPECT_LE(outside, kSlack);
}

TEST_P(SeveralDevices, TheLedgerHasAllTheTimeOfTheDevicesOwnClock) {
  step(seeded(0));
  for (const auto& [device, ledger] : session_->ledgers("step")) {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0, computed = 0;
    for (const Span& span : session_->timeline("step").spans) {
      if (span.device != device) continue;
      begin = std::min(begin, span.start.count);
      end = std::max(end, span.end.count);
      const auto& tasks = session_->program("step").tasks;
      if (std::ranges::find(tasks, span.task, &Task::id)->computes())
        computed += (span.end - span.start).count;
    }
    EXPECT_EQ(ledger.compute.count(), computed);
    EXPECT_GE(ledger.total().count(), end - begin);
    EXPECT_LE(ledger.compute + ledger.moving + ledger.waiting,
              std::chrono::nanoseconds(end - begin));
  }
}

TEST_P(SeveralDevices, ANumberThatIsNotFiniteIsFoundOnItsDevice) {
  std::vector<float> x = seeded(0);
  x.back() = std::numeric_limits<float>::infinity();
  session_->write_input("step", "x", std::as_bytes(std::span(x)));
  auto found = session_->run_checked("step");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->task, "doubled" + std::to_string(GetParam() - 1));
  EXPECT_EQ(session_->program("step").tasks.at(found->at).name, found->task);
}

INSTANTIATE_TEST_SUITE_P(Counts, SeveralDevices, testing::Values(2, 3, 5));

}  // namespace
}  // namespace troika
