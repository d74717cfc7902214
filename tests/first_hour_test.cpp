// The first commands after installing Troika: those of --help, the checks of a run file, the
// models.
#include <gmock/gmock.h>

#include <iterator>

#include "command_line.h"
#include "npy_file.h"

namespace troika {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line.substr(0, line.find('#')));
  return {std::istream_iterator<std::string>(stream), {}};
}

/// The arguments of each command below "Start with:".
std::vector<std::vector<std::string>> first_commands(const std::string& help) {
  std::vector<std::vector<std::string>> commands;
  std::istringstream lines(help.substr(help.find("Start with:")));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  troika ")) continue;
    std::vector<std::string> words = words_of(line);
    commands.emplace_back(words.begin() + 1, words.end());
  }
  return commands;
}

using FirstHour = CommandLine;

TEST_F(FirstHour, TheCommandsOfTheHelpWorkInTheirOrderInAnEmptyFolder) {
  fs::create_directory(path("empty"));
  auto commands = first_commands(run({"--help"}).out);
  ASSERT_EQ(commands.size(), 3u);
  std::string last;
  for (const std::vector<std::string>& command : commands) {
    Result result = run(command, {.folder = "empty"});
    ASSERT_EQ(result.code, 0) << command.front() << ": " << result.err;
    last = result.out;
  }
  EXPECT_THAT(last, AllOf(HasSubstr("runs/digits exists, so this run is runs/digits-2"),
                          HasSubstr("run folder: runs/digits-2")));
}

TEST_F(FirstHour, CheckReportsKeysModelAndDataAtOnceEachWithItsPlace) {
  folder_.write("bad.toml",
                "[model]\nname = \"lenett\"\n[data]\ntrain = \"digits:train\"\n"
                "test = \"idx:nowhere\"\n[train]\nepochs = 1\nseeed = 3\n");
  Result result = run({"config", "check", "bad.toml"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("bad.toml:2:8: error: there is no model 'lenett'; did you mean "
                              "'lenet'?"),
                    HasSubstr("bad.toml:5:8: error: data set 'idx:nowhere': "),
                    HasSubstr("bad.toml:8:1: error: unknown key 'seeed'")));
}

TEST_F(FirstHour, TrainReportsAllProblemsOfAFileWithTheirPlacesToo) {
  folder_.write(
      "bad.toml",
      "[model]\nname = \"lenett\"\n[data]\ntrain = \"idx:nowhere\"\n[train]\nepochs = 1\n");
  Result result = run({"train", "bad.toml", "train.seeed=1"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("bad.toml:2:8: error: there is no model 'lenett'"),
                                HasSubstr("bad.toml:4:9: error: data set 'idx:nowhere'"),
                                HasSubstr("command line: error: unknown key 'seeed'")));
  EXPECT_FALSE(fs::exists(path("runs")));
}

TEST_F(FirstHour, CheckBuildsTheModelForTheData) {
  Result good = run({"config", "check", "tiny.toml"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(good.out,
            "tiny.toml is a valid run file: mlp (25,450 parameters), digits:train?size=400 (400 "
            "samples), 1 device\n");
  Result option = run({"config", "check", "tiny.toml", "model.hiden=3", "model.dropout=true"});
  EXPECT_THAT(option.err, HasSubstr("command line: error: model 'mlp' has no option 'hiden'"));
  folder_.write("letters.txt", std::string(1000, 'a') + std::string(1000, 'b'));
  Result other = run({"config", "check", "tiny.toml", "data.train=text:letters.txt",
                      "data.test=text:letters.txt"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("tiny.toml:2:8: error: model 'mlp' takes numbers such as"));
  Result missing = run({"config", "check", "tiny.toml", "data.train=idx:nowhere"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("command line: error: data set 'idx:nowhere'"));
  Result frozen = run({"config", "check", "tiny.toml", "train.freeze=[\"features.*\"]"});
  EXPECT_THAT(frozen.err, HasSubstr("features.*"));
}

TEST_F(FirstHour, CheckResolvesThePlan) {
  Result plan = run({"config", "check", "tiny.toml", "parallel.plan=none.json"});
  EXPECT_EQ(plan.code, 3);
  EXPECT_THAT(plan.err, HasSubstr("command line: error: "));
  Result order = run({"config", "check", "tiny.toml", "parallel.plan=tensor", "parallel.devices=2",
                      "parallel.order=fixed", "train.shards=2"});
  EXPECT_EQ(order.code, 2) << order.out;
  EXPECT_THAT(order.err, HasSubstr("command line: error: parallel.order = \"fixed\""));
}

TEST_F(FirstHour, APlanFileSaysHowManyDevicesThereAre) {
  ASSERT_EQ(run({"train", "tiny.toml", "-n", "2", "train.epochs=1"}).code, 0);
  Result again = run({"train", "tiny.toml", "train.epochs=1", "parallel.plan=runs/tiny/plan.json"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("each of 2 devices"));
  Result few = run({"train", "tiny.toml", "parallel.plan=runs/tiny/plan.json", "-n", "1"});
  EXPECT_EQ(few.code, 2);
  EXPECT_THAT(few.err, HasSubstr("but the run has 1 device"));
}

TEST_F(FirstHour, AFileThatIsNotJsonIsRefusedWithItsPlaceAndWithoutTheLibrarysWords) {
  folder_.write("broken.json", "{\n  \"format\": \"troika plan 1\",\n  oops\n}\n");
  folder_.write("empty.json", "{\"format\": \"troika plan 1\", \"micro_batches\": 1}");
  auto error_of = [&](const std::vector<std::string>& words) {
    Result result = run(words);
    EXPECT_EQ(result.code, 3);
    EXPECT_THAT(result.err, Not(HasSubstr("json.exception")));
    return result.err;
  };
  EXPECT_THAT(
      error_of({"train", "tiny.toml", "parallel.plan=broken.json"}),
      HasSubstr("broken.json: the plan cannot be read: it is not JSON at line 3, column 3"));
  EXPECT_THAT(error_of({"train", "tiny.toml", "parallel.plan=empty.json"}),
              HasSubstr("the plan has no 'splits'"));
  EXPECT_THAT(error_of({"inspect", "broken.json"}), HasSubstr("it is not JSON at line 3"));
}

TEST_F(FirstHour, TheRecordSaysHowAndWhereTheRunWasStarted) {
  ASSERT_EQ(run({"train", "tiny.toml", "train.epochs=1", "run.name=two words"}).code, 0);
  auto env = nlohmann::json::parse(read_text(path("runs/two words/env.json")));
  EXPECT_EQ(env["command"], "troika train tiny.toml train.epochs=1 'run.name=two words'");
  EXPECT_FALSE(env["version"].get<std::string>().empty());
  EXPECT_FALSE(env["host"].get<std::string>().empty());
  EXPECT_THAT(env["date"].get<std::string>(),
              testing::MatchesRegex("20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"));
}

TEST_F(FirstHour, TheDocumentOfAllKeysIsTheOneThatTheProgramWrites) {
  Result result = run({"config", "reference"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, read_text(fs::path(TROIKA_DOCS) / "config.md"))
      << "docs/config.md is stale; write it with: troika config reference > docs/config.md";
}

class Models : public CommandLine {
 protected:
  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const auto& model : nlohmann::json::parse(run({"models", "--json"}).out))
      names.push_back(model["name"]);
    return names;
  }

  /// The files that the examples name.
  void write_data() {
    std::string lines;
    for (int at = 0; at < 64; ++at) lines += "one two\tthree four\n";
    folder_.write("FILE", lines + lines);
    std::string cifar;
    for (int at = 0; at < 64; ++at) cifar += char(at % 10) + std::string(3072, char(at));
    for (const char* file : {"1", "2", "3", "4", "5"})
      folder_.write(std::string("DIR/data_batch_") + file + ".bin", cifar);
    folder_.write("DIR/test_batch.bin", cifar);
    folder_.write("IMAGES.npy",
                  npy_file("|u1", "32, 3, 299, 299", std::vector<char>(32 * 3 * 299 * 299, 1)));
    folder_.write("LABELS.npy", npy_file("|u1", "32,", std::vector<char>(32, 1)));
  }
};

TEST_F(Models, AreListedWithALineEachAndExplainedOneByOne) {
  Result list = run({"models"});
  EXPECT_THAT(list.out, HasSubstr("  lenet         LeNet-5"));
  Result lenet = run({"models", "lenet"});
  ASSERT_EQ(lenet.code, 0) << lenet.err;
  EXPECT_THAT(lenet.out,
              AllOf(HasSubstr("61,706 with default options"), HasSubstr("'input' f32[1,28,28]"),
                    HasSubstr("digits:train"), HasSubstr("width  number, default 1: multiplies")));
  Result slip = run({"models", "lenett"});
  EXPECT_EQ(slip.code, 2);
  EXPECT_THAT(slip.err, HasSubstr("did you mean 'lenet'?"));
  EXPECT_THAT(run({"inspect", "lenet"}).err, HasSubstr("did you mean: troika models lenet"));
}

TEST_F(Models, HaveExamplesThatAreValidRunFiles) {
  write_data();
  std::vector<std::string> all = names();
  ASSERT_GT(all.size(), 10u);
  for (const std::string& name : all) {
    auto card = nlohmann::json::parse(run({"models", name, "--json"}).out);
    EXPECT_GT(card["parameters"], 0) << name;
    EXPECT_FALSE(card["inputs"].empty()) << name;
    EXPECT_FALSE(card["data"].empty()) << name;
    folder_.write("example.toml", card["example"]);
    Result checked = run({"config", "check", "example.toml"});
    EXPECT_EQ(checked.code, 0) << name << ": " << checked.err;
  }
}

}  // namespace
}  // namespace troika
