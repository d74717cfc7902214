// Uses models after their run: without the training data, from another working directory, with the
// best checkpoint, and with every kind of text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "checkpoint/index.h"
#include "program_run.h"

namespace troika {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::ordered_json;

/// A run file of a small model. The data is in the folder of the file.
std::string run_file(const std::string& model, const std::string& data,
                     const std::string& more = "") {
  return "[model]\n" + model + "\n[data]\n" + data +
         "\n[train]\nglobal_batch = 16\nepochs = 6\n[optimizer]\nname = \"adam\"\nlearning_rate = "
         "0.01\n[parallel]\nthreads = 1\n[kernels]\nmeasure = false\n" +
         more;
}

std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  return lines;
}

class SavedModels : public ProgramTest {
 protected:
  void train(const std::string& file, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"train", file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Result result = run(arguments);
    ASSERT_EQ(result.code, 0) << result.err;
  }

  /// Writes 160 lines of one of two words, and their translations.
  void write_columns(const std::string& name, const std::string& first, const std::string& second) {
    std::string lines;
    for (int line = 0; line < 80; ++line) lines += first + "\n" + second + "\n";
    folder_.write(name, lines);
  }
};

constexpr const char* kClassifier = "name = \"rnntc\"\nhidden = 16";
constexpr const char* kWriter = "name = \"rnnlm\"\nhidden = 32\nlayers = 1";

TEST_F(SavedModels, NeedNoTrainingDataAndNoRunFolder) {
  write_columns("given/train.tsv", "low\tone two", "high\tnine eight");
  folder_.write("given/run.toml", run_file(kClassifier, "train = \"labelled:train.tsv\""));
  folder_.write("other.tsv", "high\teight\nlow\ttwo seven one\nhigh\tnine nine\n");
  train("given/run.toml");
  fs::remove(path("given/train.tsv"));

  Result predicted = run({"predict", "runs/run", "--data", "labelled:other.tsv", "--json"});
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  std::vector<Json> lines = json_lines(predicted.out);
  ASSERT_EQ(lines.size(), 3u);
  for (const Json& line : lines) EXPECT_EQ(line["predicted"], line["target"]) << line;
  EXPECT_EQ(lines[0]["target"], "high");
  Result evaluated = run({"eval", "runs/run", "--data", "labelled:other.tsv", "--json"});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_EQ(Json::parse(evaluated.out)["test_accuracy"], 1.0);

  // A checkpoint copied out of its run folder contains everything else that is needed.
  fs::rename(path("runs/run/checkpoints/step-60"), path("model"));
  fs::remove_all(path("runs"));
  Result alone = run({"predict", "model", "--prompt", "two two"});
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_THAT(alone.out, HasSubstr("low"));
  Result unknown = run({"eval", "model", "--data", "labelled:given/run.toml"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("run.toml:1: a line must be label<tab>text"));
}

TEST_F(SavedModels, OfEarlierVersionsAskForTheTrainingData) {
  write_columns("train.tsv", "low\tone two", "high\tnine eight");
  folder_.write("run.toml", run_file(kClassifier, "train = \"labelled:train.tsv\""));
  train("run.toml");
  fs::path index = path("runs/run/checkpoints/step-60/index.json");
  Index old = parse_index(read_text(index), "index");
  Json meta = Json::parse(old.meta_json);
  meta.erase("samples");
  meta.erase("run");
  old.meta_json = meta.dump();
  std::ofstream(index) << to_text(old);
  std::vector<std::string> predict{"predict", "runs/run", "--prompt", "nine"};
  EXPECT_THAT(run(predict).out, HasSubstr("high"));
  fs::remove(path("train.tsv"));
  Result lost = run(predict);
  EXPECT_EQ(lost.code, 3);
  EXPECT_THAT(lost.err, HasSubstr("written by an earlier version"));
  EXPECT_THAT(lost.err, HasSubstr("train.tsv"));
}

TEST_F(SavedModels, AreTheSameFromAnotherWorkingDirectory) {
  write_columns("data/train.tsv", "low\tone two", "high\tnine eight");
  folder_.write("files/run.toml", run_file(kClassifier,
                                           "train = \"labelled:../data/train.tsv[0:100]\"\ntest = "
                                           "\"labelled:../data/train.tsv[100:]\""));
  fs::create_directories(path("elsewhere"));
  ASSERT_EQ(run({"train", "../files/run.toml", "train.epochs=1"}, {.folder = "elsewhere"}).code, 0);
  ASSERT_TRUE(fs::exists(path("elsewhere/runs/run/run.toml")));
  // A copy of its run file, with absolute paths, names the same files.
  Result resumed = run({"train", "--resume", "elsewhere/runs/run", "train.epochs=2"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(run({"eval", "../elsewhere/runs/run"}, {.folder = "data"}).code, 0);
  EXPECT_EQ(
      run({"predict", "runs/run", "--data", "labelled:../data/train.tsv"}, {.folder = "elsewhere"})
          .code,
      0);
  // A path on the command line is relative to where the command runs.
  Result own = run({"train", "../files/run.toml", "data.train=labelled:train.tsv", "train.epochs=1",
                    "--dry-run"},
                   {.folder = "data"});
  EXPECT_EQ(own.code, 0) << own.err;
}

TEST_F(SavedModels, CanBeTheBestInsteadOfTheNewest) {
  folder_.write("run.toml",
                run_file("name = \"mlp\"\nhidden = 16",
                         "train = \"digits:train?size=64\"\ntest = \"digits:test?size=64\"",
                         "[checkpoint]\nbest = \"test_loss\"\nkeep = 1\n"));
  train("run.toml", {"train.epochs=2"});
  // The rate is far too high, so later checkpoints are worse.
  Result worse =
      run({"train", "--resume", "runs/run", "train.epochs=3", "optimizer.learning_rate=3"});
  ASSERT_EQ(worse.code, 0) << worse.err;
  std::string best = read_text(path("runs/run/checkpoints/best"));
  best.resize(best.find(' '));
  for (const char* verb : {"eval", "predict"}) {
    Result result = run({verb, "runs/run", "--best", "--json"});
    ASSERT_EQ(result.code, 0) << result.err;
  }
  Json newest = Json::parse(run({"eval", "runs/run", "--json"}).out),
       chosen = Json::parse(run({"eval", "runs/run", "--best", "--json"}).out);
  EXPECT_THAT(chosen["checkpoint"].get<std::string>(), HasSubstr("checkpoints/" + best));
  ASSERT_LT(chosen["step"], newest["step"]);
  EXPECT_LT(chosen["test_loss"], newest["test_loss"]);
  EXPECT_THAT(run({"train", "run.toml", "--from", "runs/run", "--best", "--name", "b"}).out,
              HasSubstr("starts from the weights of runs/run/checkpoints/" + best));
  EXPECT_THAT(run({"train", "--resume", "runs/run", "--best"}).out, HasSubstr(best));

  EXPECT_EQ(run({"train", "run.toml", "--best"}).code, 2);
  EXPECT_EQ(run({"eval", "runs/run/checkpoints/" + best, "--best"}).code, 2);
  folder_.write("plain.toml",
                run_file("name = \"mlp\"\nhidden = 16", "train = \"digits:train?size=64\"", ""));
  train("plain.toml", {"train.epochs=1"});
  Result none = run({"eval", "runs/plain", "--data", "digits:test[0:8]", "--best"});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, HasSubstr("checkpoint.best"));
}

TEST_F(SavedModels, OfPairsTranslate) {
  write_columns("train.tsv", "uno dos\tone two", "dos uno\ttwo one");
  folder_.write("run.toml", run_file("name = \"nmt\"\nlayers = 1\nwidth = 16\ndropout = 0",
                                     "train = \"pairs:train.tsv\""));
  train("run.toml");
  EXPECT_EQ(run({"predict", "runs/run", "--prompt", "dos uno"}).out, "two one\n");
  Result result = run({"predict", "runs/run", "--data", "pairs:train.tsv[0:3]", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  std::vector<Json> lines = json_lines(result.out);
  ASSERT_EQ(lines.size(), 3u);
  for (const Json& line : lines) EXPECT_EQ(line["predicted"], line["target"]);
  EXPECT_THAT(run({"eval", "runs/run", "--data", "pairs:train.tsv"}).out, HasSubstr("100.00 %"));
}

TEST_F(SavedModels, OfMaskedTextFillIt) {
  std::string song;
  for (int line = 0; line < 200; ++line) song += "abcdefgh\n";
  folder_.write("song.txt", song);
  folder_.write("run.toml", run_file("name = \"bert\"\nlayers = 1\nwidth = 32\nheads = 2\ndropout "
                                     "= 0",
                                     "train = \"text:song.txt\"\nsequence = 18"));
  train("run.toml", {"train.epochs=60"});
  EXPECT_EQ(run({"predict", "runs/run", "--prompt", "abc[MASK]efgh"}).out, "abcdefgh\n");
  Result result = run({"predict", "runs/run", "--data", "text:song.txt[0:90]", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  std::vector<Json> lines = json_lines(result.out);
  ASSERT_GT(lines.size(), 5u);
  auto right = std::ranges::count_if(
      lines, [](const Json& line) { return line["predicted"] == line["target"]; });
  EXPECT_GT(static_cast<double>(right) / static_cast<double>(lines.size()), 0.7);  // chance: 1/9
  Result long_prompt = run({"predict", "runs/run", "--prompt", "[MASK]abcdefghabcdefghabcd"});
  EXPECT_EQ(long_prompt.code, 2);
}

TEST_F(SavedModels, AreNotMadeFromDataThatDoesNotFeedThem) {
  folder_.write("text.txt", std::string(400, 'a') + "bcd");
  auto refused = [&](const std::string& model) {
    folder_.write("run.toml",
                  run_file("name = \"" + model + "\"", "train = \"text:text.txt\"\nsequence = 16"));
    Result result = run({"train", "run.toml"});
    EXPECT_EQ(result.code, 2);
    return result.err;
  };
  EXPECT_THAT(refused("nmt"), HasSubstr("model 'nmt' has an input 'source' that nothing feeds"));
  EXPECT_THAT(refused("nmt"), HasSubstr("pairs:FILE"));
  EXPECT_THAT(refused("rnntc"), HasSubstr("labelled:FILE"));
  EXPECT_FALSE(fs::exists(path("runs")));
}

TEST_F(SavedModels, OfTextReadOtherTextsOfTheSameCharacters) {
  folder_.write("song.txt", std::string(40, 'a') + "\n" + std::string(40, 'b') + "\n");
  folder_.write("run.toml", run_file(kWriter, "train = \"text:song.txt\"\nsequence = 8"));
  train("run.toml", {"train.epochs=1"});
  fs::remove(path("song.txt"));
  EXPECT_EQ(run({"predict", "runs/run", "--prompt", "ab", "--tokens", "5"}).code, 0);
  folder_.write("other.txt", "abababababab");
  EXPECT_EQ(run({"eval", "runs/run", "--data", "text:other.txt"}).code, 0);
  folder_.write("strange.txt", "ababxabababab");
  Result strange = run({"eval", "runs/run", "--data", "text:strange.txt"});
  EXPECT_EQ(strange.code, 3);
  EXPECT_THAT(strange.err, HasSubstr("character 'x'"));
}

}  // namespace
}  // namespace troika
