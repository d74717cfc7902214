// A newcomer's first hour with data of their own: every command works as the documentation says,
// and every mistake on the way gets a sentence.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>

#include "command_line.h"

namespace troika {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A NumPy file of the first format version.
template <class T>
std::string npy(const std::string& type, const std::string& shape, const std::vector<T>& values) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  const auto length = static_cast<std::uint16_t>(header.size());
  std::string file = "\x93NUMPY";
  file += {'\x01', '\x00', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  file += header;
  return file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

class OwnData : public CommandLine {
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
    folder_.write("images.npy", npy("<f4", shape + ", 8, 8", pixels));
    folder_.write("labels.npy", npy("<i4", shape + ",", labels));
  }

  nlohmann::json last_row(const std::string& run, const std::string& key) {
    nlohmann::json found;
    std::istringstream lines(read_text(path(run + "/metrics.jsonl")));
    for (std::string line; std::getline(lines, line);)
      if (auto row = nlohmann::json::parse(line); row.contains(key)) found = row;
    return found;
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
};

TEST_F(OwnData, RegressionOnATableOfOnesOwn) {
  folder_.write("points.csv", table(true));
  folder_.write("new.csv", table(false));
  folder_.write("points.toml", R"([model]
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
)");
  Result checked = run({"config", "check", "points.toml"});
  EXPECT_EQ(checked.code, 0) << checked.err;
  Result trained = run({"train", "points.toml"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  nlohmann::json last = last_row("runs/points", "validation_loss");
  EXPECT_LT(last["validation_loss"], 0.02);
  EXPECT_LT(last["validation_absolute_error"], 0.15);
  Result predicted = run({"predict", "runs/points", "--data", "csv:new.csv", "--out", "y.csv"});
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  std::istringstream lines(read_text(path("y.csv")));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "index,y");
  int row = 0;
  for (; std::getline(lines, line); ++row) {
    double a = row / 20 / 10.0 - 1, b = row % 20 / 10.0 - 1;
    EXPECT_NEAR(std::stod(line.substr(line.find(',') + 1)), 3 * a - 2 * b + 1, 0.8) << line;
  }
  EXPECT_EQ(row, 400);
}

TEST_F(OwnData, ImagesWithValidationStopEarlyResumeAndPredictByTheBest) {
  write_images(200);
  folder_.write("own.toml", kImages);
  Result trained = run({"train", "own.toml", "train.evaluate=2 steps"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.out,
              AllOf(HasSubstr("(160 samples), validation 20% (40)"),
                    HasSubstr("validation_accuracy 100.00 %"), HasSubstr("stopped early")));
  Result resumed = run({"train", "--resume", "runs/own", "train.patience=1000", "train.epochs=41"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.out, AllOf(HasSubstr("resumed from"), HasSubstr("step 410/410")));
  Result predicted =
      run({"predict", "runs/own", "--best", "--data", "npy:images.npy", "--out", "classes.csv"});
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_THAT(read_text(path("classes.csv")), HasSubstr("\n1,1,"));
}

TEST_F(OwnData, TheSameRunOnTwoDevicesComputesTheSame) {
  write_images(100);
  folder_.write("own.toml", kImages);
  Result trained = run({"train", "own.toml", "-n", "2", "train.epochs=2"});
  EXPECT_EQ(trained.code, 0) << trained.err;
  Result verified = run({"verify", "own.toml", "--plans", "data:2"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
}

/// A mistake, and what the sentence about it must say.
struct Mistake {
  const char* name;
  const char* change;  ///< An override of the run file.
  std::vector<const char*> said;
  int code;
};

class Mistakes : public OwnData, public testing::WithParamInterface<Mistake> {};

TEST_P(Mistakes, GetASentenceThatSaysWhatToDo) {
  write_images(50);
  folder_.write("own.toml", kImages);
  Result result = run({"config", "check", "own.toml", GetParam().change});
  EXPECT_EQ(result.code, GetParam().code) << result.out;
  for (const char* part : GetParam().said) EXPECT_THAT(result.err, HasSubstr(part));
}

INSTANTIATE_TEST_SUITE_P(
    OwnData, Mistakes,
    testing::Values(
        Mistake{"UnknownModel", "model.name=mpl", {"mpl", "did you mean 'mlp'?"}, 2},
        Mistake{"UnknownOption", "model.hiden=3", {"hiden", "did you mean 'hidden'?"}, 2},
        Mistake{"HabitOfOthers", "optimizer.lr=0.1", {"lr", "learning_rate"}, 2},
        Mistake{"UnknownScheme", "data.train=nyp:images.npy,labels.npy", {"nyp", "npy:"}, 2},
        Mistake{"MissingFile", "data.train=npy:imges.npy,labels.npy", {"imges.npy"}, 3},
        Mistake{"ImpossiblePart", "data.validation=100%", {"100%", "below 100"}, 2},
        Mistake{"MetricThatTheModelLacks",
                "checkpoint.best=validation_top5",
                {"has no validation_top5", "it has validation_loss, validation_accuracy"},
                2},
        Mistake{"MetricWithoutSamples",
                "train.until=test_accuracy > 0.9",
                {"test_accuracy", "add 'test' to [data]"},
                2},
        Mistake{"NotANumber", "train.epochs=many", {"'epochs' in [train]", "many"}, 2}),
    [](const auto& mistake) { return std::string(mistake.param.name); });

}  // namespace
}  // namespace troika
