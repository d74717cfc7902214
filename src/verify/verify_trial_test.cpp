#include "verify/verify_trial.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing/test_effort.h"
#include "setup/optimizer_rules.h"
#include "strategy/testing/random_strategy.h"
#include "train/small_runs_test.h"

namespace troika {
namespace {

/// A resnet with an eighth of its channels. Batch norm over few samples and the signs of tiny
/// gradients make it sensitive to rounding.
RunConfig resnet_run(const std::string& optimizer, const std::string& batch,
                     std::vector<std::string> more = {}) {
  constexpr const char* kRun = R"(
[model]
name = "resnet18"
width = 0.125
[data]
train = "digits:train?size=64"
[train]
steps = 4
[optimizer]
learning_rate = 0.01
[parallel]
threads = 1
[kernels]
backend = "cpu"
measure = false
winograd = false
[log]
every = "1 steps"
)";
  more.insert(more.begin(), {"optimizer.name=" + optimizer, "train.global_batch=" + batch});
  return parse_run(kRun, "resnet.toml", more).config;
}

/// A run on one device and its sensitivity.
struct Alone {
  RunConfig config;
  Trial trial{.config = config, .steps = 4};
  Trained truth = run_trial(trial);
  Sensitivity sensitivity{trial, truth};

  explicit Alone(RunConfig given) : config(std::move(given)) {}

  std::vector<Finding> findings_of(const Trained& found) const {
    std::vector<Finding> findings = compare_trained(found, truth);
    sensitivity.allow(findings);
    return findings;
  }
};

Trained under_random_plan(RunConfig config, std::int64_t devices, std::uint64_t seed) {
  zoo::Model model = make_training(config)->model();
  Machine machine;
  machine.devices.resize(static_cast<std::size_t>(devices));
  config.parallel.devices = devices;
  config.parallel.plan.name = "data";
  return run_trial(
      {.config = config, .steps = 4, .strategy = random_strategy(model.train(), machine, seed)});
}

std::string beyond(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings)
    if (!finding.agrees())
      text += finding.value + " after step " + std::to_string(finding.step) + " by " +
              std::to_string(finding.distance) + ", allowed " + std::to_string(finding.allowed) +
              "\n";
  return text;
}

class SensitiveRun : public testing::TestWithParam<std::string> {};

/// Returns one batch size, or all with TROIKA_FULL.
std::vector<std::string> batches() {
  return full_grid() ? std::vector<std::string>{"5", "9", "10"} : std::vector<std::string>{"5"};
}

TEST_P(SensitiveRun, AgreesUnderRandomPlans) {
  for (const std::string& batch : batches()) {
    Alone alone(resnet_run(GetParam(), batch));
    for (std::uint64_t seed : {0, 1}) {
      auto devices = static_cast<std::int64_t>(seed + 2);
      Trained found = under_random_plan(alone.config, devices, seed);
      std::string text = beyond(alone.findings_of(found));
      while (!text.empty() && alone.sensitivity.nudge()) text = beyond(alone.findings_of(found));
      EXPECT_EQ(text, "") << "batch " << batch << ", plan of seed " << seed;
    }
  }
}

/// Changes the state after the first step as if the gradient of one parameter had been 1 % too
/// long. Moments and velocities start at zero, so they are off by as much (second moments by more).
/// So is the weight under SGD, but not under LAMB, which ignores the length of a gradient.
Trained with_damaged_gradient(Trained trained, const std::string& parameter, bool moves_weight) {
  for (std::size_t at = 0; at < trained.start.size(); ++at) {
    StateTensor& tensor = trained.after.at(1)[at];
    bool is_state = tensor.name.starts_with(parameter + ".");
    if (!is_state && !(moves_weight && tensor.name == parameter)) continue;
    const std::vector<double>& start = trained.start[at].values;
    for (std::size_t i = 0; i < start.size(); ++i)
      tensor.values[i] = start[i] + 1.01 * (tensor.values[i] - start[i]);
  }
  return trained;
}

TEST_P(SensitiveRun, DiffersWhereOneGradientIsOffByOnePercent) {
  Alone alone(resnet_run(GetParam(), "9"));
  while (alone.sensitivity.nudge()) {
  }
  for (const char* damaged : {"conv1.weight", "layer2.0.conv1.weight", "fc.weight"}) {
    Trained wrong = with_damaged_gradient(alone.truth, damaged, GetParam() == "sgd");
    std::string text = beyond(alone.findings_of(wrong));
    EXPECT_NE(text.find(damaged), std::string::npos) << damaged << "\n" << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, SensitiveRun, testing::Values("lamb", "sgd"),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace troika
