#include "runtime/session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/random.h"
#include "device/cpu/cpu_device.h"
#include "kernels/reference/reference.h"

namespace troika {
namespace {

// One weight, one update: w -= rate * scale * dw, with the gradient given as an input.
TaskGraph one_update() {
  TaskGraph graph{.name = "train", .arena = {Bytes{64}}};
  auto buffer = [&](const char* name, TensorSpec spec, bool persistent) {
    graph.buffers.push_back({.name = name,
                             .spec = spec,
                             .device = DeviceId(0u),
                             .category = persistent && std::string(name) != "w"
                                             ? Category::workspace
                                             : Category::parameter,
                             .persistent = persistent});
    if (std::string(name) == "w") {
      graph.buffers.back().part_of = "w";
      graph.buffers.back().region = Region::whole(spec.shape);
      graph.buffers.back().whole = spec.shape;
    }
    return BufferId(graph.buffers.size() - 1);
  };
  TensorSpec spec{{3}, DType::f32};
  BufferId w = buffer("w", spec, true), g = buffer("g", spec, false);
  BufferId scalars = buffer("step.scalars", {{kScalarCount}, DType::f64}, true);
  BufferId control = buffer("step.control", {{kControlCount}, DType::f64}, true);
  graph.inputs["g"] = g;
  graph.storage = {
      {"w", spec, Category::parameter,
       std::make_shared<StoredPlaces>(StoredPlaces{{DeviceId(0u), Region::whole(spec.shape)}})}};
  graph.tasks.push_back({.id = {0, 0},
                         .name = "w update",
                         .device = DeviceId(0u),
                         .key = {Sgd{}, {spec}, Phase::update, {}},
                         .choice = {"reference", std::vector<Layout>(4), {}, {}},
                         .uses = {{w, Access::update},
                                  {g, Access::read},
                                  {scalars, Access::read},
                                  {control, Access::read}}});
  return graph;
}

struct OneUpdate : testing::Test {
  std::unique_ptr<Device> device = make_cpu_device({.threads = 1});
  std::unique_ptr<Backend> backend = make_reference_backend();
  Session session{{.devices = {{DeviceId(0u), device.get()}}}, *backend};

  void SetUp() override {
    session.add(one_update());
    session.start();
    session.write_scalar(Scalar::learning_rate, 0.5);
    session.write_control(Control::gradient_scale, 1);
  }
  std::vector<float> step(std::vector<float> gradient) {
    session.write_input("train", "g", std::as_bytes(std::span(gradient)));
    session.run("train");
    std::vector<float> w(3);
    session.store("w", std::as_writable_bytes(std::span(w)));
    return w;
  }
};

TEST_F(OneUpdate, MovesTheWeight) {
  std::vector<float> start{1, 2, 3};
  session.load("w", std::as_bytes(std::span(start)));
  EXPECT_EQ(step({2, 0, -2}), (std::vector<float>{0, 2, 4}));
  ASSERT_EQ(session.timeline("train").spans.size(), 1u);
  Span span = session.timeline("train").spans[0];
  EXPECT_EQ(span.task, (TaskId{0, 0}));
  EXPECT_EQ(span.start, SimTime{0});
  EXPECT_GT(span.end, span.start);
  EXPECT_LT(span.end, SimTime{60'000'000'000});
}

TEST_F(OneUpdate, AnOperandThatIsNotFiniteIsNotTheTasksOwnFault) {
  std::vector<float> gradient(3, std::numeric_limits<float>::quiet_NaN());
  session.write_input("train", "g", std::as_bytes(std::span(gradient)));
  session.write_control(Control::ok, 0);  // the update skips, so all that it writes stays finite
  EXPECT_FALSE(session.run_checked("train").has_value());
}

TEST_F(OneUpdate, RefusesAProgramThatStoresTheSameStateInAnotherLayout) {
  TaskGraph other = one_update();
  other.name = "other";
  other.buffers[0].layout = Layout::transposed;
  EXPECT_THROW(session.add(other), Bug);
}

TEST(KernelCache, KeepsOneKernelForEachKeyAlgorithmAndLayouts) {
  std::unique_ptr<Backend> backend = make_reference_backend();
  KernelCache cache(*backend);
  Task plain = one_update().tasks[0], other = plain;
  other.choice.layouts[1] = Layout::transposed;
  Kernel& first = cache.get(plain);
  EXPECT_EQ(&cache.get(plain), &first);
  EXPECT_NE(&cache.get(other), &first);
}

TEST_F(OneUpdate, DoesNothingWhileTheControlWordIsNotOk) {
  session.write_control(Control::ok, 0);
  EXPECT_EQ(step({1, 1, 1}), (std::vector<float>{0, 0, 0}));
  session.write_control(Control::ok, 1);
  EXPECT_EQ(step({1, 1, 1}), (std::vector<float>{-0.5, -0.5, -0.5}));
}

TEST_F(OneUpdate, NamesTheFirstTaskThatIsNotFinite) {
  float bad = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> gradient{1, bad, 1};
  session.write_input("train", "g", std::as_bytes(std::span(gradient)));
  auto found = session.run_checked("train");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->task, "w update");
  EXPECT_EQ(found->buffer, "w");
}

TEST_F(OneUpdate, AllocatesNothingInAStep) {
  step({1, 1, 1});
  std::int64_t before = device->allocations();
  for (int i = 0; i < 10; ++i) session.run("train");
  EXPECT_EQ(device->allocations(), before);
}

}  // namespace
}  // namespace troika
