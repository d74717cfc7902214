// Trains every model of the zoo through the whole pipeline: graph, strategy, lowering, kernels,
// executor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/testing/counted_news.h"
#include "config/load_run.h"
#include "seeded_inputs.h"
#include "setup/live_model.h"
#include "taskgraph/memory_table.h"
#include "train/feeds.h"
#include "zoo/testing/small_models.h"

namespace troika {
namespace {

constexpr std::uint64_t kSeed = 11;

RunConfig config_for(const std::string& name, const std::string& backend,
                     const std::string& dtype) {
  return parse_run("[model]\nname = \"" + name +
                       "\"\n[data]\ntrain = \"digits:train\"\n[optimizer]\nmomentum = 0.9\n",
                   "zoo.toml",
                   std::vector<std::string>{"train.steps=1", "kernels.backend=" + backend,
                                            "kernels.dtype=" + dtype})
      .config;
}

std::string default_backend() {
  return KernelsConfig{}.backend == KernelsConfig::Backend::cpu ? "cpu" : "reference";
}

/// Trains a small model for a few steps and records the losses.
class Steps {
 public:
  Steps(const std::string& name, const RunConfig& config)
      : live_(set_up_runtime(config.kernels, config.parallel)) {
    zoo::ModelRequest request = zoo::small_request(name);
    request.samples.dtype = config.kernels.dtype;
    request.samples.batch = 6;  // batch norm over two values would be only rounding
    model_ = zoo::build(request);
    live_.add_training(model_, config, Strategy::single());
    live_.start();
    live_.initialize(kSeed);
    live_.session().write_scalar(Scalar::learning_rate, 0.01);
  }

  void step(int number) {
    live_.session().write_scalar(Scalar::update_step, number + 1);
    for (const zoo::NamedGraph& graph : model_.graphs) {
      for (TensorId input : graph.graph.inputs)
        live_.session().write_input(graph.name, graph.graph[input].name,
                                    seeded_values(graph.graph, input, kSeed));
      std::int64_t own = counted_news.own, library = counted_news.of_libraries;
      live_.session().run(graph.name);
      allocations += counted_news.own - own;
      library_allocations += counted_news.of_libraries - library;
      losses.push_back(live_.session().read_control(Control::loss));
    }
  }

  LiveModel& live() { return live_; }
  const zoo::Model& model() const { return model_; }

  std::vector<double> losses;
  std::int64_t allocations = 0;
  std::int64_t library_allocations = 0;  // inside oneDNN, which makes a small map per call

 private:
  LiveModel live_;
  zoo::Model model_;
};

class ZooSteps : public testing::TestWithParam<std::string> {};

// The effect of rounding in three steps is measured with the reference kernels in f32, because
// batch norm over the few values of small images is sensitive.
TEST_P(ZooSteps, CpuKernelsFollowTheReferenceInF64) {
  if (default_backend() != "cpu")
    GTEST_SKIP() << "this build has no CPU kernels: oneDNN is missing";
  Steps truth(GetParam(), config_for(GetParam(), "reference", "f64"));
  Steps rounded(GetParam(), config_for(GetParam(), "reference", "f32"));
  Steps fast(GetParam(), config_for(GetParam(), "cpu", "f32"));
  for (int number = 0; number < 3; ++number) {
    truth.step(number);
    rounded.step(number);
    fast.step(number);
  }
  for (std::size_t at = 0; at < truth.losses.size(); ++at) {
    EXPECT_TRUE(std::isfinite(truth.losses[at]));
    double rounding = std::abs(rounded.losses[at] - truth.losses[at]);
    double tolerance = 1e-4 * std::max(1.0, std::abs(truth.losses[at])) + 8 * rounding;
    EXPECT_NEAR(fast.losses[at], truth.losses[at], tolerance)
        << "step " << at << ", rounding " << rounding;
  }
}

TEST_P(ZooSteps, AllocateNothingOfTheirOwn) {
  if (default_backend() != "cpu") GTEST_SKIP() << "the reference loops are plain: some allocate";
  Steps steps(GetParam(), config_for(GetParam(), "cpu", "f32"));
  steps.step(0);
  steps.allocations = steps.library_allocations = 0;
  std::int64_t buffers = steps.live().setup().device().allocations();
  for (int number = 1; number < 4; ++number) steps.step(number);
  EXPECT_EQ(steps.allocations, 0);
  RecordProperty("library_allocations_per_step", static_cast<int>(steps.library_allocations / 3));
  EXPECT_EQ(steps.live().setup().device().allocations(), buffers);
}

TEST_P(ZooSteps, PredictedMemoryIsWhatIsAllocated) {
  Steps steps(GetParam(), config_for(GetParam(), default_backend(), "f32"));
  const Session& session = steps.live().session();
  Bytes arena;
  for (const zoo::NamedGraph& graph : steps.model().graphs)
    arena = std::max(arena, memory_of(session.program(graph.name), DeviceId(0u)).arena);
  EXPECT_EQ(arena, session.arena_bytes());
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const zoo::Entry& entry : zoo::entries()) names.push_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooSteps, testing::ValuesIn(model_names()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace troika
