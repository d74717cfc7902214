// For tests: runs the program in a temporary folder that contains a small run file.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>

#include "program_run.h"

namespace troika {

inline constexpr const char* kRunFile = R"([model]
name = "mlp"
hidden = 32
layers = 1

[data]
train = "digits:train?size=400"
test = "digits:test?size=100"

[train]
global_batch = 20
epochs = 3

[optimizer]
learning_rate = 0.02
momentum = 0.9

[parallel]
threads = 1

[log]
every = "5 steps"
)";

class CommandLine : public ProgramTest {
 protected:
  CommandLine() { folder_.write("tiny.toml", kRunFile); }

  /// Waits until the file contains the text, for at most a minute.
  bool appears(const std::string& file, const std::string& text) {
    for (int tries = 0; tries < 1200; ++tries) {
      if (read_text(path(file)).find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }

  std::string metrics_without_times(const std::string& run) {
    std::istringstream lines(read_text(path(run + "/metrics.jsonl")));
    std::string text;
    for (std::string line; std::getline(lines, line);) {
      auto json = nlohmann::ordered_json::parse(line);
      for (const char* name : {"seconds", "samples_per_second", "step_ms", "data_wait"})
        json.erase(name);
      text += json.dump() + "\n";
    }
    return text;
  }
};

}  // namespace troika
