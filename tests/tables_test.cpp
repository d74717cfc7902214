// Tables from end to end: train on a csv file, predict rows without a target into a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/number_text.h"
#include "base/random.h"
#include "checkpoint/index.h"
#include "data/csv_reader.h"
#include "data/npy.h"
#include "program_run.h"

namespace troika {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::ordered_json;

constexpr double kNoise = 0.1;

constexpr const char* kRunFile = R"([model]
name = "mlp"
hidden = 32
layers = 2

[data]
train = "csv:table.csv[0:600]"
test = "csv:table.csv[600:]"

[train]
global_batch = 20
epochs = 60
evaluate = "20 epochs"

[optimizer]
name = "adam"
learning_rate = 0.03
schedule = { kind = "cosine" }

[parallel]
threads = 1

[kernels]
measure = false

[checkpoint]
every = "20 epochs"
)";

double truth(double x, double z) { return 3 + 2 * x - 0.5 * x * x + 0.01 * z; }

/// Columns of different scales. Without a target the columns are in another order.
std::string table(std::int64_t rows, std::uint64_t seed, bool has_target) {
  RandomStream random{.key = seed};
  std::string text = has_target ? "x,\"z, wide\",y\n" : "\"z, wide\",x\n";
  for (std::int64_t row = 0; row < rows; ++row) {
    auto at = static_cast<std::uint64_t>(3 * row);
    double x = 4 * random.uniform(at) - 2, z = 500 + 100 * random.uniform(at + 1),
           y = truth(x, z) + kNoise * random.normal(at + 2);
    text += has_target ? std::to_string(x) + "," + std::to_string(z) + "," + std::to_string(y)
                       : std::to_string(z) + "," + std::to_string(x);
    text += "\n";
  }
  return text;
}

/// The numbers of a file, row by row.
std::vector<std::vector<double>> numbers_in(const fs::path& path) {
  data::FileBytes file = data::FileBytes::map(path.string());
  data::CsvReader reader(file);
  std::vector<std::vector<double>> rows;
  std::vector<data::CsvCell> cells;
  while (reader.next(cells)) {
    rows.emplace_back();
    for (const data::CsvCell& cell : cells)
      rows.back().push_back(parse_number<double>(cell.text).value());
  }
  return rows;
}

class Tables : public ProgramTest {
 protected:
  Tables() {
    folder_.write("table.csv", table(800, 1, true));
    folder_.write("new.csv", table(70, 2, false));
    folder_.write("run.toml", kRunFile);
  }

  void train(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"train", "run.toml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Result result = run(arguments);
    ASSERT_EQ(result.code, 0) << result.err;
  }

  Json evaluate(const std::string& of) {
    Result result = run({"eval", of, "--json"});
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out);
  }

  /// Turns the checkpoints of a run into those of a version that did not normalise targets.
  void forget_target_normalization(const std::string& of) {
    for (const auto& entry : fs::directory_iterator(path(of + "/checkpoints"))) {
      if (!entry.is_directory()) continue;
      fs::path file = entry.path() / "index.json";
      Index index = parse_index(read_text(file), file.string());
      Json meta = Json::parse(index.meta_json);
      ASSERT_EQ(meta["samples"].erase("target_normalization"), 1U);
      index.meta_json = meta.dump();
      std::ofstream(file) << to_text(index);
    }
  }
};

TEST_F(Tables, AreLearnedDownToTheirNoise) {
  train();
  Result evaluated = run({"eval", "runs/run", "--json"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  Json json = Json::parse(evaluated.out);
  EXPECT_LT(json["test_loss"].get<double>(), 1.6 * kNoise * kNoise);
  EXPECT_GT(json["test_loss"].get<double>(), 0.6 * kNoise * kNoise);
  EXPECT_FALSE(json.contains("test_accuracy"));

  // The checkpoint knows columns and scales: the training table may go.
  fs::remove(path("table.csv"));
  Result written = run({"predict", "runs/run", "--data", "csv:new.csv", "--out", "new-y.csv"});
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(written.out, "wrote 70 predictions to new-y.csv\n");
  EXPECT_THAT(read_text(path("new-y.csv")), testing::StartsWith("index,y\n0,"));
  auto asked = numbers_in(path("new.csv")), answers = numbers_in(path("new-y.csv"));
  ASSERT_EQ(answers.size(), 70u);
  double squares = 0;
  for (std::size_t row = 0; row < answers.size(); ++row) {
    EXPECT_EQ(answers[row][0], static_cast<double>(row));
    squares += std::pow(answers[row][1] - truth(asked[row][1], asked[row][0]), 2) / 70;
  }
  EXPECT_LT(std::sqrt(squares), kNoise) << "closer to the truth than a single measurement";
}

TEST_F(Tables, AreInspectedByTheirColumns) {
  Result inspected = run({"inspect", "csv:table.csv"});
  ASSERT_EQ(inspected.code, 0) << inspected.err;
  EXPECT_THAT(inspected.out, testing::ContainsRegex("targets +y"));
  EXPECT_THAT(inspected.out, testing::Not(testing::HasSubstr("classes")));
}

TEST_F(Tables, ArePredictedOnTheTerminalAndAsAnArray) {
  train({"train.epochs=1", "model.loss=absolute"});
  Result labelled = run({"predict", "runs/run", "--data", "csv:table.csv[0:3]"});
  ASSERT_EQ(labelled.code, 0) << labelled.err;
  EXPECT_THAT(labelled.out, HasSubstr("index"));
  EXPECT_THAT(labelled.out, HasSubstr("target"));
  Result unlabelled = run({"predict", "runs/run", "--data", "csv:new.csv[0:3]"});
  EXPECT_THAT(unlabelled.out, Not(HasSubstr("target")));
  std::istringstream lines(run({"predict", "runs/run", "--data", "csv:new.csv", "--json"}).out);
  ASSERT_EQ(run({"predict", "runs/run", "--data", "csv:new.csv", "--out", "y.npy"}).code, 0);
  data::ArrayFile array = data::read_npy(path("y.npy").string());
  EXPECT_EQ(array.shape, (Shape{70, 1}));
  ASSERT_EQ(array.element, data::Element::f32);
  std::int64_t row = 0;
  for (std::string line; std::getline(lines, line); ++row) {
    float stored = 0;
    std::memcpy(&stored, array.entry(row).data(), sizeof stored);
    EXPECT_EQ(Json::parse(line)["prediction"][0].get<float>(), stored);
    EXPECT_FALSE(Json::parse(line).contains("target"));
  }
  EXPECT_EQ(row, 70);
}

TEST_F(Tables, NameTheirClassesInAFile) {
  folder_.write("table.csv", "x,kind\n1,\"low, very\"\n2,\"low, very\"\n8,high\n9,high\n");
  folder_.write("new.csv", "x\n1.5\n8.5\n");
  train({"data.train=csv:table.csv", "data.test=", "train.global_batch=4"});
  Result written = run({"predict", "runs/run", "--data", "csv:new.csv", "--out", "kinds.csv"});
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_THAT(read_text(path("kinds.csv")),
              testing::MatchesRegex("index,predicted,probability\n0,\"low, very\",[01][.0-9]*\n"
                                    "1,high,[01][.0-9]*\n"));
  ASSERT_EQ(run({"predict", "runs/run", "--data", "csv:new.csv", "--out", "kinds.npy"}).code, 0);
  data::ArrayFile array = data::read_npy(path("kinds.npy").string());
  EXPECT_EQ(array.shape, (Shape{2}));
  EXPECT_EQ(array.element, data::Element::i32);
  EXPECT_EQ(static_cast<int>(array.entry(0)[0]), 1);
}

TEST_F(Tables, NameTheirClassesInAnyScript) {
  folder_.write("table.csv", "größe,kind\n1,grün\n2,grün\n8,猫\n9,猫\n");
  folder_.write("new.csv", "größe\n1.5\n8.5\n");
  train({"data.train=csv:table.csv", "data.test=", "train.global_batch=4"});
  Result printed = run({"predict", "runs/run", "--data", "csv:new.csv"});
  EXPECT_THAT(printed.out, testing::ContainsRegex("0 +grün .*\n +1 +猫 ")) << printed.err;
  ASSERT_EQ(run({"predict", "runs/run", "--data", "csv:new.csv", "--out", "kinds.csv"}).code, 0);
  EXPECT_THAT(read_text(path("kinds.csv")), testing::ContainsRegex("\n0,grün,.*\n1,猫,"));
  Result inspected = run({"inspect", "csv:table.csv"});
  EXPECT_THAT(inspected.out, HasSubstr("\n  grün         2\n  猫           2\n")) << inspected.out;
}

TEST_F(Tables, LeaveNoHalfOfAFileBehind) {
  train({"train.epochs=1"});
  folder_.write("y.csv", "precious\n");
  Result full =
      run({"predict", "runs/run", "--data", "csv:new.csv", "--out", "y.csv"}, {.file_limit = 100});
  EXPECT_EQ(full.code, 3) << full.err;
  EXPECT_EQ(read_text(path("y.csv")), "precious\n");
  for (const auto& entry : fs::directory_iterator(path(".")))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("partial")));
  Result strange = run({"predict", "runs/run", "--out", "y.txt"});
  EXPECT_EQ(strange.code, 2);
  EXPECT_THAT(strange.err, HasSubstr(".csv or .npy"));
  Result unlabelled = run({"eval", "runs/run", "--data", "csv:new.csv"});
  EXPECT_EQ(unlabelled.code, 3);
  EXPECT_THAT(unlabelled.err, HasSubstr("no column 'y', which the model predicts"));
}

// A model starts near 0. Without normalised targets this run ends with errors of a quarter of the
// price, and with plain SGD it diverges.
TEST_F(Tables, ReachLargeNumbersInAShortRun) {
  RandomStream random{.key = 9};
  std::string text = "area,rooms,price\n";
  double prices = 0;
  for (std::uint64_t row = 0; row < 400; ++row) {
    double area = 40 + 160 * random.uniform(3 * row), rooms = 1 + 5 * random.uniform(3 * row + 1),
           price = 30'000 + 1'200 * area + 10'000 * rooms + 2'000 * random.normal(3 * row + 2);
    text += std::to_string(area) + "," + std::to_string(rooms) + "," + std::to_string(price) + "\n";
    prices += price / 400;
  }
  EXPECT_NEAR(prices, 2e5, 2e4);
  folder_.write("table.csv", text);
  for (const char* loss : {"squared", "absolute"}) {
    train({"data.train=csv:table.csv[0:300]", "data.test=csv:table.csv[300:]", "train.epochs=20",
           "--name", loss, "model.loss=" + std::string(loss)});
    Result evaluated = run({"eval", std::string("runs/") + loss, "--json"});
    ASSERT_EQ(evaluated.code, 0) << evaluated.err;
    Json json = Json::parse(evaluated.out);
    double error = json["test_absolute_error"], test_loss = json["test_loss"];
    EXPECT_LT(error, 0.03 * prices) << "in the units of the table";
    if (std::string("squared") == loss) {
      EXPECT_GT(test_loss, error * error);
      EXPECT_LT(test_loss, 4 * error * error);
    } else {
      EXPECT_DOUBLE_EQ(test_loss, error);
    }
    std::string last = read_text(path(std::string("runs/") + loss + "/metrics.jsonl"));
    double lasting = 0;
    std::istringstream lines(last);
    for (std::string line; std::getline(lines, line);)
      if (Json entry = Json::parse(line); entry.contains("loss")) lasting = entry["loss"];
    EXPECT_LT(lasting, 4 * test_loss) << "of training, in the same units";
    EXPECT_GT(lasting, test_loss / 4);
    Result predicted = run({"predict", std::string("runs/") + loss, "--json"});
    Json first = Json::parse(predicted.out.substr(0, predicted.out.find('\n')));
    EXPECT_NEAR(first["target"][0], numbers_in(path("table.csv"))[300][2], 0.5);
    EXPECT_NEAR(first["prediction"][0], first["target"][0], 5 * error);
  }
}

// Checkpoints of earlier versions hold weights for targets as they are, and say nothing of them.
TEST_F(Tables, KeepTargetsAsTheyAreInARunThatBeganSo) {
  train({"train.epochs=20"});
  forget_target_normalization("runs/run");
  double before = evaluate("runs/run")["test_loss"];
  EXPECT_GT(before, 10) << "the weights are for normalised targets";
  Result resumed =
      run({"train", "--resume", "runs/run", "train.epochs=21", "log.every=1 steps", "--json"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  double first = 0;
  std::istringstream lines(read_text(path("runs/run/metrics.jsonl")));
  for (std::string line; std::getline(lines, line);)
    if (Json entry = Json::parse(line); entry.contains("loss") && entry["step"] == 601)
      first = entry["loss"];
  EXPECT_NEAR(first, before, 0.5 * before);
  EXPECT_NEAR(evaluate("runs/run")["test_loss"], before, 0.1 * before);
}

// With a learning rate of almost 0, a new run predicts what the old one did. The other table has
// the same features, so that the inputs are normalised in the same way.
TEST_F(Tables, KeepTheUnitOfWeightsThatARunStartsFrom) {
  std::string other = "x,\"z, wide\",y\n";
  for (const std::vector<double>& row : numbers_in(path("table.csv")))
    other += std::to_string(row[0]) + "," + std::to_string(row[1]) + "," +
             std::to_string(1000 * row[2]) + "\n";
  folder_.write("other.csv", other);
  auto first_prediction = [&](const std::string& of) -> double {
    Result result = run({"predict", of, "--data", "csv:new.csv[0:1]", "--json"});
    return Json::parse(result.out)["prediction"][0];
  };
  auto expect_same = [&](const std::string& teacher, const std::string& student) {
    train({"data.train=csv:other.csv[0:600]", "data.test=", "train.epochs=1", "--from", teacher,
           "optimizer.learning_rate=1e-12", "--name", student});
    EXPECT_NEAR(first_prediction("runs/" + student), first_prediction(teacher), 1e-3);
  };
  train({"train.epochs=5"});
  expect_same("runs/run", "normalised");
  Result refused = run({"train", "run.toml", "--from", "runs/run", "data.normalize=none"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("data.normalize = \"auto\""));
  forget_target_normalization("runs/run");
  expect_same("runs/run", "as_they_are");
}

// Two targets have an output layer of their own, so nothing of the old unit is left.
TEST_F(Tables, MeasureTheirTargetsIfTheOutputLayerIsNew) {
  train({"train.epochs=1"});
  train({"train.epochs=1", "--from", "runs/run", "--name", "two",
         "data.test=", "data.train=csv:table.csv?target=y+x"});
  for (const auto& entry : fs::directory_iterator(path("runs/two/checkpoints")))
    if (entry.is_directory()) {
      Json samples = Json::parse(read_text(entry.path() / "index.json"))["meta"]["samples"];
      EXPECT_EQ(samples["target_normalization"]["mean"].size(), 2U);
    }
}

// The autoencoder compares with its input, whose unit has nothing to do with the target's.
TEST_F(Tables, HaveALossInTheUnitOfWhatItComparesWith) {
  std::string text = "x,z,price\n";
  RandomStream random{.key = 4};
  for (std::uint64_t row = 0; row < 200; ++row)
    text += std::to_string(random.normal(2 * row)) + "," +
            std::to_string(random.normal(2 * row + 1)) + "," + std::to_string(1e5 * row) + "\n";
  folder_.write("prices.csv", text);
  std::string file = kRunFile;
  file.replace(0, file.find("[data]"), "[model]\nname = \"autoencoder\"\nhidden = \"8,1\"\n\n");
  folder_.write("run.toml", file);
  train({"data.train=csv:prices.csv?task=regress", "data.test=csv:prices.csv?task=regress[0:100]",
         "train.epochs=1", "log.every=1 steps", "optimizer.learning_rate=1e-5"});
  double loss = 0;
  std::istringstream lines(read_text(path("runs/run/metrics.jsonl")));
  for (std::string line; std::getline(lines, line);)
    if (Json entry = Json::parse(line); entry.contains("loss")) loss = entry["loss"];
  EXPECT_NEAR(loss, 1, 0.8);
  EXPECT_NEAR(evaluate("runs/run")["test_loss"].get<double>(), 1, 0.8);
}

TEST_F(Tables, GiveTheSameAnswerOnTwoDevices) {
  for (const char* loss : {"model.loss=squared", "model.loss=absolute"}) {
    Result result = run({"verify", "run.toml", loss, "--plans", "data:2,tensor:2"});
    EXPECT_EQ(result.code, 0) << result.out << result.err;
  }
}

}  // namespace
}  // namespace troika
