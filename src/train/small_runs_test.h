// For tests: runs of a few steps.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/load_run.h"
#include "train/training_run.h"

namespace troika {

namespace fs = std::filesystem;

/// A run of a few steps with dropout and Adam; keys may be overridden as on the command line.
inline RunConfig small_run(std::vector<std::string> overrides = {}) {
  constexpr const char* kRun = R"(
[model]
name = "gpt2"
layers = 1
width = 16
heads = 2
dropout = 0.2
[data]
train = "digits:train?size=64"
[train]
global_batch = 8
steps = 20
seed = 3
[optimizer]
name = "adam"
learning_rate = 0.01
[parallel]
threads = 1
)";
  return parse_run(kRun, "small.toml", overrides).config;
}

/// A temporary folder for one test.
struct Folder {
  fs::path path =
      fs::temp_directory_path() / ("troika-training-" + std::to_string(::getpid()) + "-" +
                                   testing::UnitTest::GetInstance()->current_test_info()->name());
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }

  std::string text(const std::string& content) const {
    std::ofstream(path / "text.txt") << content;
    return "text:" + (path / "text.txt").string();
  }
};

inline std::string rhyme() {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += "the quick brown fox jumps over the lazy dog " + std::to_string(i * i) + ". ";
  return text;
}

inline RunConfig language_run(const Folder& folder, std::vector<std::string> overrides = {}) {
  overrides.insert(overrides.begin(), {"data.train=" + folder.text(rhyme()), "data.sequence=16"});
  return small_run(overrides);
}

/// A small version of an image model, tested on a few images.
inline RunConfig image_run(const std::string& model, const std::vector<std::string>& overrides) {
  constexpr const char* kRest = R"(
width = 0.25
[data]
train = "digits:train?size=16"
test = "digits:test?size=8"
[train]
global_batch = 4
[optimizer]
momentum = 0.9
[parallel]
threads = 1
)";
  return parse_run("[model]\nname = \"" + model + "\"" + kRest, "images.toml", overrides).config;
}

inline std::unique_ptr<TrainingRun> make_training(const RunConfig& config, TrainHooks hooks = {}) {
  return std::make_unique<TrainingRun>(
      config,
      [model = config.model](const zoo::Samples& samples) { return build_model(model, samples); },
      open_sets(config), hooks);
}

/// Returns all bytes of the state: weights and optimizer.
inline std::map<std::string, std::vector<std::byte>> state_of(TrainingRun& training) {
  std::map<std::string, std::vector<std::byte>> state;
  for (const StateEntry& entry : training.live().session().state()) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(entry.spec.bytes().count));
    training.live().session().store(entry.name, bytes);
    state[entry.name] = bytes;
  }
  return state;
}

/// Hooks that stop the run after `steps` steps.
inline TrainHooks stop_after(int steps) {
  return {nullptr, [left = steps]() mutable { return --left == 0; }};
}

}  // namespace troika
