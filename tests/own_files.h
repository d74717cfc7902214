// For tests: the files of somebody who trains on data of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npy_file.h"
#include "program_run.h"

namespace troika {

class OwnFiles : public ProgramTest {
 protected:
  /// y = 3 a - 2 b + 1 at points of a grid.
  static std::string table(bool has_target) {
    std::string text = has_target ? "a,b,y\n" : "a,b\n";
    for (int i = 0; i < 20; ++i) {
      for (int j = 0; j < 20; ++j) {
        double a = i / 10.0 - 1, b = j / 10.0 - 1;
        text += std::to_string(a) + "," + std::to_string(b);
        text += has_target ? "," + std::to_string(3 * a - 2 * b + 1) + "\n" : "\n";
      }
    }
    return text;
  }

  /// Bright and dark squares of 8 x 8 pixels, in turns.
  void write_images(std::int64_t count) {
    std::vector<float> pixels;
    std::vector<std::int32_t> labels;
    for (std::int64_t i = 0; i < count; ++i) {
      labels.push_back(static_cast<std::int32_t>(i % 2));
      for (int p = 0; p < 64; ++p)
        pixels.push_back(0.8f * static_cast<float>(i % 2) +
                         0.2f * static_cast<float>(p * i % 7) / 7);
    }
    std::string shape = std::to_string(count);
    folder_.write("images.npy", npy_file("<f4", shape + ", 8, 8", pixels));
    folder_.write("labels.npy", npy_file("<i4", shape + ",", labels));
  }

  static constexpr const char* kImages = R"([model]
name = "mlp"
hidden = 16
[data]
train = "npy:images.npy,labels.npy"
validation = "20%"
[train]
global_batch = 16
epochs = 40
patience = 3
[checkpoint]
best = "validation_accuracy"
[parallel]
threads = 1
)";

  static constexpr const char* kPoints = R"([model]
name = "mlp"
hidden = 16
[data]
train = "csv:points.csv"
validation = "10%"
[train]
global_batch = 20
epochs = 60
[optimizer]
name = "adam"
learning_rate = 0.01
[parallel]
threads = 1
)";
};

}  // namespace troika
