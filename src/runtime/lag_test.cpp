// Sessions whose tasks run beside later steps than their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "comm/threads/thread_transport.h"
#include "device/cpu/cpu_device.h"
#include "kernels/reference/reference.h"
#include "runtime/session.h"
#include "taskgraph/verify.h"

namespace troika {
namespace {

constexpr std::int64_t kLength = 3;

/// Lags of the four stages.
using Stages = std::array<int, 4>;

/// Device 0 doubles x and sends it to device 1, which doubles it again, twice, and adds the result
/// to a state, times the learning rate. Each of these stages has its lag.
struct Pipeline {
  TaskGraph graph{.name = "step", .arena = {Bytes{}, Bytes{}}};
  const TensorSpec vector{{kLength}, DType::f32};

  explicit Pipeline(const Stages& lags) {
    BufferId x = value("x", 0), y = value("y", 0), received = value("received", 1);
    BufferId z = value("z", 1), last = value("last", 1);
    graph.inputs["x"] = x;
    double_it(x, y, lags[0]);
    send(y, received, lags[0], lags[1]);
    double_it(received, z, lags[1]);
    double_it(z, last, lags[2]);
    update(last, lags[3]);
    graph.dependencies = find_dependencies(graph);
  }

 private:
  BufferId value(const std::string& name, std::size_t device) {
    graph.buffers.push_back(
        {.name = name, .spec = vector, .device = DeviceId(device), .offset = graph.arena[device]});
    graph.arena[device] += Bytes{64};
    return BufferId(graph.buffers.size() - 1);
  }
  BufferId state(const std::string& name, const TensorSpec& spec) {
    graph.buffers.push_back(
        {.name = name, .spec = spec, .device = DeviceId(1u), .persistent = true});
    return BufferId(graph.buffers.size() - 1);
  }
  void add(Task task) {
    task.id = {0, static_cast<std::int32_t>(graph.tasks.size())};
    graph.tasks.push_back(std::move(task));
  }
  void double_it(BufferId from, BufferId to, int lag) {
    add({.name = graph[to].name,
         .device = graph[to].device,
         .key = {Sum{.count = 2}, {vector, vector}, Phase::forward, {}},
         .choice = {"reference", std::vector<Layout>(3), {}, {}},
         .uses = {{from, Access::read}, {from, Access::read}, {to, Access::write}},
         .lag = lag});
  }
  void send(BufferId from, BufferId to, int lag, int later) {
    graph.communications.push_back({.name = "transfer",
                                    .call = equal_parts(Collective::broadcast, 2, kLength),
                                    .devices = {DeviceId(0u), DeviceId(1u)},
                                    .buffers = {from, to},
                                    .algorithm = "tree"});
    auto half = [&](TaskKind kind, int member, Access access, int own) {
      auto device = static_cast<std::size_t>(member);
      add({.name = "transfer",
           .device = DeviceId(device),
           .uses = {{graph.communications[0].buffers[device], access}},
           .kind = kind,
           .communication = CommunicationId(0u),
           .member = member,
           .lag = own});
    };
    half(TaskKind::start, 0, Access::read, lag);
    half(TaskKind::start, 1, Access::write, later);
    half(TaskKind::finish, 0, Access::read, later);
    half(TaskKind::finish, 1, Access::update, later);
  }
  void update(BufferId gradient, int lag) {
    BufferId w = state("w", vector);
    graph[w].category = Category::parameter;
    graph[w].part_of = "w";
    graph[w].region = Region::whole(vector.shape);
    graph[w].whole = vector.shape;
    graph.storage = {{"w", vector, Category::parameter,
                      std::make_shared<StoredPlaces>(
                          StoredPlaces{{DeviceId(1u), Region::whole(vector.shape)}})}};
    BufferId scalars = state(scalars_name(lag) + "@1", {{kScalarCount}, DType::f64});
    BufferId control = state("step.control@1", {{kControlCount}, DType::f64});
    add({.name = "update",
         .device = DeviceId(1u),
         .key = {Sgd{}, {vector}, Phase::update, {}},
         .choice = {"reference", std::vector<Layout>(4), {}, {}},
         .uses = {{w, Access::update},
                  {gradient, Access::read},
                  {scalars, Access::read},
                  {control, Access::read}},
         .is_update = true,
         .lag = lag});
  }
};

class LaggingSession : public testing::TestWithParam<Stages> {
 protected:
  LaggingSession() : pipeline_(GetParam()) {
    SessionDevices places{.transport = &transport_};
    for (std::size_t at : {0u, 1u}) {
      devices_.push_back(make_cpu_device({.threads = 1}));
      places.devices[DeviceId(at)] = devices_.back().get();
    }
    session_ = std::make_unique<Session>(places, *backend_);
    session_->add(pipeline_.graph);
    session_->start();
    session_->write_control(Control::gradient_scale, 1);
    largest_ = largest_lag(pipeline_.graph);
  }

  /// A batch and a rate that no other step has.
  void write_step(int number) {
    std::vector<float> x(kLength, static_cast<float>(number + 1));
    session_->write_input("step", "x", std::as_bytes(std::span(x)));
    session_->write_scalar(Scalar::learning_rate, number % 3 + 1);
  }
  void step(int number) {
    write_step(number);
    session_->run("step");
    expected_ -= 8.0F * static_cast<float>((number + 1) * (number % 3 + 1));
  }
  /// Reading the state runs what is left of the steps.
  std::vector<float> weights() {
    std::vector<float> w(kLength);
    session_->store("w", std::as_writable_bytes(std::span(w)));
    return w;
  }
  std::vector<float> expected() const { return std::vector<float>(kLength, expected_); }

  Pipeline pipeline_;
  std::unique_ptr<Backend> backend_ = make_reference_backend();
  std::vector<std::unique_ptr<Device>> devices_;
  ThreadTransport transport_;
  std::unique_ptr<Session> session_;
  int largest_ = 0;
  float expected_ = 0;
};

TEST_P(LaggingSession, TheGraphOfThisTestPassesTheVerifier) {
  EXPECT_NO_THROW(verify(pipeline_.graph, Stage::placed));
}

TEST_P(LaggingSession, AnyNumberOfStepsLeavesWhatStepsOneByOneLeave) {
  int number = 0;
  for (int steps : {1, 2, 3, 4, 7, 1, 1}) {
    for (int times = 0; times < steps; ++times) step(number++);
    // The host may write the next step before it looks at the state.
    if (steps == 2) session_->write_scalar(Scalar::learning_rate, 100);
    EXPECT_EQ(weights(), expected()) << "after " << steps << " steps";
  }
}

TEST_P(LaggingSession, AStepThatIsCheckedRunsAloneWithItsOwnScalars) {
  for (int number = 0; number < 4; ++number) step(number);
  std::vector<float> x(kLength, 1);
  EXPECT_EQ(weights(), expected());
  session_->write_scalar(Scalar::learning_rate, 5);
  session_->write_input("step", "x", std::as_bytes(std::span(x)));
  EXPECT_FALSE(session_->run_checked("step").has_value());
  expected_ -= 8 * 5;
  EXPECT_EQ(weights(), expected());
  x.back() = std::numeric_limits<float>::infinity();
  session_->write_input("step", "x", std::as_bytes(std::span(x)));
  auto found = session_->run_checked("step");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->task, "y");
}

TEST_P(LaggingSession, ATimelineIsOfThePassInWhichAllTasksRun) {
  for (int number = 0; number <= largest_; ++number) {
    EXPECT_TRUE(session_->timeline("step").spans.empty()) << "some tasks have not run";
    step(number);
  }
  std::vector<Span> whole = session_->timeline("step").spans;
  EXPECT_EQ(whole.size(), pipeline_.graph.tasks.size());
  weights();
  EXPECT_EQ(session_->timeline("step").spans, whole) << "the drained rest is not a pass";
}

TEST_P(LaggingSession, ATimelineOfAStepFromRestHasItsLagsOneAfterTheOther) {
  step(0);
  weights();
  std::vector<Span> spans = session_->timeline("step").spans;
  ASSERT_EQ(spans.size(), pipeline_.graph.tasks.size());
  std::map<int, std::pair<SimTime, SimTime>> ranges;  // by lag
  for (std::size_t at = 0; at < spans.size(); ++at) {
    auto& [first, last] =
        ranges.try_emplace(pipeline_.graph.tasks[at].lag, spans[at].start, spans[at].end)
            .first->second;
    first = std::min(first, spans[at].start);
    last = std::max(last, spans[at].end);
  }
  for (auto at = ranges.begin(), next = std::next(at); next != ranges.end(); at = next++)
    EXPECT_LE(at->second.second, next->second.first);
}

TEST_P(LaggingSession, ATimelineIsCompleteOnceAFewStepsAreDrained) {
  for (int number = 0; number < 2; ++number) step(number);
  weights();
  EXPECT_EQ(session_->timeline("step").spans.size(), pipeline_.graph.tasks.size());
}

TEST_P(LaggingSession, NothingIsAllocatedInAStep) {
  for (int number = 0; number < 5; ++number) step(number);
  std::vector<std::int64_t> before;
  for (const auto& device : devices_) before.push_back(device->allocations());
  for (int number = 0; number < 5; ++number) step(number);
  weights();
  for (std::size_t at = 0; at < devices_.size(); ++at)
    EXPECT_EQ(devices_[at]->allocations(), before[at]);
}

INSTANTIATE_TEST_SUITE_P(Lags, LaggingSession,
                         testing::Values(Stages{0, 0, 0, 0}, Stages{0, 0, 0, 1}, Stages{0, 1, 1, 1},
                                         Stages{0, 1, 1, 2}, Stages{0, 1, 2, 2},
                                         Stages{0, 1, 2, 3}),
                         [](const auto& row) {
                           std::string name = "lags";
                           for (int lag : row.param) name += std::to_string(lag);
                           return name;
                         });

}  // namespace
}  // namespace troika
