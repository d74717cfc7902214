// Training on one's own tables and images. The mistakes on the way are in newcomer_test.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "own_files.h"

namespace troika {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class OwnData : public OwnFiles {
 protected:
  nlohmann::json last_row(const std::string& run, const std::string& key) {
    nlohmann::json found;
    std::istringstream lines(read_text(path(run + "/metrics.jsonl")));
    for (std::string line; std::getline(lines, line);)
      if (auto row = nlohmann::json::parse(line); row.contains(key)) found = row;
    return found;
  }
};

TEST_F(OwnData, RegressionOnATableOfOnesOwn) {
  folder_.write("points.csv", table(true));
  folder_.write("new.csv", table(false));
  folder_.write("points.toml", kPoints);
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

TEST_F(OwnData, TheBestCheckpointIsTheFirstWithTheHighestFigure) {
  write_images(200);
  folder_.write("own.toml", kImages);
  ASSERT_EQ(run({"train", "own.toml"}).code, 0);
  std::int64_t best = 0;
  double highest = -1;
  std::istringstream lines(read_text(path("runs/own/metrics.jsonl")));
  for (std::string line; std::getline(lines, line);) {
    auto row = nlohmann::json::parse(line);
    if (!row.contains("validation_accuracy") || row["validation_accuracy"] <= highest) continue;
    highest = row["validation_accuracy"];
    best = row["step"];
  }
  EXPECT_THAT(read_text(path("runs/own/checkpoints/best")),
              HasSubstr("step-" + std::to_string(best)));
  auto evaluated = nlohmann::json::parse(run({"eval", "runs/own", "--best", "--json"}).out);
  EXPECT_EQ(evaluated["step"], best);
  EXPECT_EQ(evaluated["validation_accuracy"], highest);  // the run has no test set
  EXPECT_THAT(run({"inspect", "runs/own"}).out,
              testing::ContainsRegex("best +step-" + std::to_string(best) + "\n"));
  EXPECT_THAT(run({"inspect", "runs/own", "--best"}).out,
              testing::StartsWith("runs/own/checkpoints/step-" + std::to_string(best) + ": "));
}

TEST_F(OwnData, ARunThatStoppedEarlySaysHowToTrainLonger) {
  write_images(200);
  folder_.write("own.toml", kImages);
  Result trained = run({"train", "own.toml"});
  EXPECT_THAT(trained.out, HasSubstr("; stopped early (train.patience)\n"));
  Result again = run({"train", "--resume", "runs/own"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out,
              testing::ContainsRegex("the run is complete at step [0-9]+; to train longer: troika "
                                     "train --resume runs/own train.patience=N\n"));
}

TEST_F(OwnData, TheSameRunOnTwoDevicesComputesTheSame) {
  write_images(100);
  folder_.write("own.toml", kImages);
  Result trained = run({"train", "own.toml", "-n", "2", "train.epochs=2"});
  EXPECT_EQ(trained.code, 0) << trained.err;
  Result verified = run({"verify", "own.toml", "--plans", "data:2"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
}

}  // namespace
}  // namespace troika
