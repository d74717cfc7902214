// For tests: a run file that states every key it can, and the errors of a text as its lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/load_run.h"

namespace troika::config {

inline constexpr std::string_view kFullRun = R"(# a comment with "quotes" and [brackets
[run]
name = "full"
folder = 'out/runs'

[model]
name = "resnet"
depth = 18
width = 0.5
stem = "small"
bias = false
"odd name" = 1

[data]
train = "cifar10:data[0:45000]"
test = "cifar10:data[45000:]"
augment = [
  "crop 4",  # pixels
  "flip",
]
normalize = [[0.49, 0.48, 0.45], [0.25, 0.24, 0.26]]
sequence = 128

[train]
global_batch = 128
epochs = 90
until = "test_accuracy >= 0.93"
seed = 0x2A
guard = "gradient"
shards = 4
clip_norm = 1.5
freeze = ["features.*", "*.norm?.bias"]
evaluate = "500 steps"
batch_schedule = { factor = 2, every = "30 epochs", limit = 1_024 }

[optimizer]
name = "lars"
learning_rate = 4e-1
momentum = 0.9
epsilon = 1e-9
weight_decay = 5e-4
trust = 0.002
groups = [{ match = "*.bias", weight_decay = 0 }, { match = "head.*", learning_rate_factor = 10 }]

[optimizer.schedule]
kind = "polynomial"
warmup = "5%"
power = 2
final = 0.01

[parallel]
devices = 4
threads = 2
order = "fixed"
plan = { data = 2, tensor = 2 }

[kernels]
backend = "reference"
dtype = "f64"
winograd = false

[checkpoint]
every = "10m"
keep = 5
best = "test_loss"

[log]
every = "1 epoch"
)";

/// The smallest run that loads.
inline constexpr std::string_view kSmallRun =
    "[model]\nname = \"lenet\"\n[data]\ntrain = \"digits:train\"\n[train]\nepochs = 1\n";

inline RunConfig parse(std::string_view text, const std::vector<std::string>& overrides = {}) {
  return parse_run(text, "run.toml", overrides).config;
}

/// One string per error; none if the text loads.
inline std::vector<std::string> errors_of(std::string_view text,
                                          const std::vector<std::string>& overrides = {}) {
  try {
    parse(text, overrides);
    return {};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    std::vector<std::string> lines;
    std::istringstream stream(error.what());
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }
}

/// The small run with more lines at its end, which begin on line 7.
inline std::string small_run_with(std::string_view more) {
  return std::string(kSmallRun) + std::string(more);
}

}  // namespace troika::config
