// For tests: small runs in f64 under many strategies, and the distance between their checkpoints.
#pragma once

#include <cmath>
#include <cstring>

#include "strategy/ready.h"
#include "train/small_runs_test.h"

namespace troika {

struct Spread {
  std::string name;
  int devices = 1;
  std::vector<std::string> overrides{};
};

/// lenet, a tenth as wide, on images; six ways to split it.
inline RunConfig spread_run(const Spread& spread, const fs::path& folder,
                            std::vector<std::string> more = {}) {
  constexpr const char* kRun = R"(
[model]
name = "lenet"
width = 0.2
[data]
train = "digits:train?size=40"
[train]
global_batch = 8
steps = 6
seed = 3
[optimizer]
name = "adam"
learning_rate = 0.001
[kernels]
backend = "reference"
dtype = "f64"
[parallel]
threads = 1
)";
  std::vector<std::string> overrides{"run.folder=" + folder.string(),
                                     "parallel.devices=" + std::to_string(spread.devices)};
  overrides.insert(overrides.end(), spread.overrides.begin(), spread.overrides.end());
  overrides.insert(overrides.end(), more.begin(), more.end());
  return parse_run(kRun, "spread.toml", overrides).config;
}

inline std::vector<Spread> spreads() {
  return {{"single", 1, {"parallel.plan=single"}}, {"data", 2, {"parallel.plan=data"}},
          {"tensor", 2, {"parallel.plan=tensor"}}, {"spatial", 2, {"parallel.plan=spatial"}},
          {"placed", 2, {"parallel.plan=placed"}}, {"sliced", 4, {"parallel.plan=data"}}};
}

/// The spread "sliced" divides the update of each parameter among the replicas.
inline TrainHooks hooks_for(const Spread& spread, const RunConfig& config,
                            Ranks* ranks = &sole_rank()) {
  TrainHooks hooks{.ranks = ranks};
  if (spread.name != "sliced") return hooks;
  auto sets = open_sets(config);
  zoo::Model model = build_model(
      config.model, samples_of(sets.train->encoding(), config, config.train.global_batch));
  Machine machine;
  machine.devices.resize(static_cast<std::size_t>(spread.devices));
  hooks.strategy = ready_strategy("data", model.train(), machine);
  hooks.strategy->sync.sliced_update = true;
  return hooks;
}

/// Returns the largest ‖a − b‖ / ‖b‖ over the tensors of two checkpoints.
inline double distance_of(const Checkpoint& a, const Checkpoint& b) {
  double most = 0;
  EXPECT_EQ(a.tensors().size(), b.tensors().size());
  for (const IndexedTensor& tensor : b.tensors()) {
    auto count = static_cast<std::size_t>(tensor.spec.shape.elements());
    std::vector<double> left(count), right(count);
    a.read(tensor.name, std::as_writable_bytes(std::span(left)));
    b.read(tensor.name, std::as_writable_bytes(std::span(right)));
    double difference = 0, norm = 0;
    for (std::size_t at = 0; at < count; ++at) {
      difference += (left[at] - right[at]) * (left[at] - right[at]);
      norm += right[at] * right[at];
    }
    most = std::max(most, std::sqrt(difference) / std::max(std::sqrt(norm), 1e-30));
  }
  return most;
}

/// Reads the losses of a run, step by step, from metrics.jsonl.
inline std::vector<double> losses_of(const RunFolder& folder) {
  std::vector<double> losses;
  std::ifstream file(folder.metrics());
  for (std::string line; std::getline(file, line);) {
    std::size_t at = line.find("\"loss\":");
    if (at != line.npos) losses.push_back(std::strtod(line.c_str() + at + 7, nullptr));
  }
  return losses;
}

}  // namespace troika
