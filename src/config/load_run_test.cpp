#include "config/load_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "config/other_names.h"
#include "config/run_keys.h"
#include "config/testing/sample_run.h"

namespace troika::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ParseRun, FillsInEveryDefault) {
  RunConfig expected;
  expected.model.name = "lenet";
  expected.data.train = "digits:train";
  expected.train.epochs = 1;
  EXPECT_EQ(parse(kSmallRun), expected);
}

TEST(ParseRun, ReadsModelDataAndTrain) {
  RunConfig run = parse(kFullRun);
  EXPECT_EQ(run.run, (RunSection{"full", "out/runs"}));
  EXPECT_EQ(run.model.name, "resnet");
  std::vector<ModelOption> options{{"depth", std::int64_t{18}},
                                   {"width", 0.5},
                                   {"stem", std::string("small")},
                                   {"bias", false},
                                   {"odd name", std::int64_t{1}}};
  EXPECT_EQ(run.model.options, options);
  EXPECT_THAT(run.data.augment, ElementsAre("crop 4", "flip"));
  EXPECT_THAT(run.data.normalize.deviation, ElementsAre(0.25, 0.24, 0.26));
  EXPECT_EQ(run.data.sequence, 128);
  EXPECT_EQ(run.train.seed, 42);
  EXPECT_EQ(run.train.until->bound, 0.93);
  EXPECT_EQ(run.train.clip_norm, 1.5);
  EXPECT_EQ(run.train.evaluate, (Period{500, PeriodUnit::steps}));
  EXPECT_EQ(run.train.batch_schedule,
            (BatchScheduleConfig{2, Period{30, PeriodUnit::epochs}, 1024}));
}

TEST(ParseRun, ReadsOptimizerDevicesAndTheRest) {
  RunConfig run = parse(kFullRun);
  EXPECT_EQ(run.optimizer.kind, OptimizerConfig::Kind::lars);
  EXPECT_EQ(run.optimizer.learning_rate, 0.4);
  EXPECT_EQ(run.optimizer.schedule.kind, ScheduleConfig::Kind::polynomial);
  EXPECT_EQ(run.optimizer.schedule.final_part, 0.01);
  EXPECT_THAT(run.optimizer.groups,
              ElementsAre(GroupConfig{"*.bias", 0.0, 1}, GroupConfig{"head.*", std::nullopt, 10}));
  EXPECT_EQ(run.parallel.threads, 2);
  EXPECT_EQ(run.parallel.plan, (PlanConfig{"", 2, 2, 1}));
  EXPECT_EQ(run.kernels, (KernelsConfig{KernelsConfig::Backend::reference, DType::f64, false}));
  EXPECT_EQ(run.checkpoint, (CheckpointConfig{Period{600, PeriodUnit::seconds}, 5,
                                              Metric{Metric::Set::test, Metric::Measure::loss}}));
}

TEST(ParseRun, SuggestsTheNearestKeyOfTheSection) {
  EXPECT_THAT(errors_of(small_run_with("[optimizer]\nlearning_rat = 0.1\n")),
              ElementsAre("run.toml:8:1: error: unknown key 'learning_rat' in [optimizer]; did you "
                          "mean 'learning_rate'?"));
}

TEST(ParseRun, SuggestsTheSectionThatHasTheKey) {
  EXPECT_THAT(errors_of(small_run_with("momentum = 0.9\n")),
              ElementsAre("run.toml:7:1: error: unknown key 'momentum' in [train]; did you mean "
                          "'momentum' in [optimizer]?"));
  EXPECT_THAT(
      errors_of("seed = 1\n" + std::string(kSmallRun)),
      ElementsAre("run.toml:1:1: error: unknown key 'seed' outside all sections; did you mean "
                  "'seed' in [train]?"));
}

TEST(ParseRun, SuggestsTheNearestSection) {
  EXPECT_THAT(errors_of(small_run_with("[optimiser]\n")),
              ElementsAre("run.toml:7:2: error: unknown section [optimiser]; did you mean "
                          "[optimizer]?"));
}

TEST(ParseRun, SuggestsNothingWhereNothingIsNear) {
  EXPECT_THAT(errors_of(small_run_with("[kernels]\nzzzzzz = 1\n")),
              ElementsAre("run.toml:8:1: error: unknown key 'zzzzzz' in [kernels]"));
}

TEST(ParseRun, NamesTheAllowedRangeAndWhatWasFound) {
  EXPECT_THAT(errors_of(small_run_with("shards = 0\n")),
              ElementsAre("run.toml:7:10: error: 'shards' in [train] must be an integer from 1 to "
                          "10^12, not 0"));
  EXPECT_THAT(errors_of(small_run_with("[optimizer]\nmomentum = 1\n")),
              ElementsAre("run.toml:8:12: error: 'momentum' in [optimizer] must be a number of at "
                          "least 0 and below 1, not 1"));
  EXPECT_THAT(errors_of(small_run_with("[optimizer]\nname = \"adm\"\n")),
              ElementsAre("run.toml:8:8: error: 'name' in [optimizer] must be \"sgd\", \"adam\", "
                          "\"adamw\", \"lars\" or \"lamb\", not \"adm\"; did you mean \"adam\"?"));
}

// One wrong value for every kind of key.
TEST(ParseRun, RefusesEveryWrongType) {
  for (const char* line : {"[train]\nepochs = 1.0",
                           "[train]\nepochs = 1\nseed = -1",
                           "[train]\nepochs = \"2\"",
                           "[optimizer]\nlearning_rate = nan",
                           "[optimizer]\nlearning_rate = inf",
                           "[optimizer]\nlearning_rate = true",
                           "[optimizer]\nnesterov = 1",
                           "[optimizer]\nname = 1",
                           "[optimizer]\ngroups = {}",
                           "[optimizer]\ngroups = [1]",
                           "[optimizer]\nschedule = \"cosine\"",
                           "[data]\ntrain = \"x\"\naugment = \"flip\"",
                           "[data]\ntrain = \"x\"\naugment = [1]",
                           "[data]\ntrain = \"\"",
                           "[data]\ntrain = \"x\"\nnormalize = [0.5, 0]",
                           "[data]\ntrain = \"x\"\nnormalize = [[1, 2], [1]]",
                           "[data]\ntrain = \"x\"\nnormalize = []",
                           "[checkpoint]\nevery = 500",
                           "[checkpoint]\nevery = \"5%\"",
                           "[checkpoint]\nevery = \"0 steps\"",
                           "[log]\nevery = \"never\"",
                           "[parallel]\nthreads = 0",
                           "[parallel]\nthreads = \"many\"",
                           "[parallel]\nplan = \"fast\"",
                           "[parallel]\nplan = { data = 0 }",
                           "[run]\nname = \"a/b\"",
                           "[run]\nname = \"..\"",
                           "[kernels]\ndtype = \"i32\"",
                           "[kernels]\nbackend = 1979-05-27",
                           "[model]\nname = \"lenet\"\nwidths = [1, 2]",
                           "model = 1"}) {
    std::vector<std::string> errors = errors_of(line);
    EXPECT_THAT(errors, Contains(HasSubstr(" must be "))) << line;
  }
}

TEST(ParseRun, ReportsAllErrorsInTheOrderOfTheFile) {
  EXPECT_THAT(errors_of("[data]\ntset = 1\n[model]\nname = 1\n[train]\nepochs = 0\nshards = 0\n"),
              ElementsAre(HasSubstr("run.toml:1:1: error: missing key 'train' in [data]"),
                          HasSubstr("run.toml:2:1: error: unknown key 'tset'"),
                          HasSubstr("run.toml:4:8: error: 'name'"),
                          HasSubstr("run.toml:6:10: error: 'epochs'"),
                          HasSubstr("run.toml:7:10: error: 'shards'")));
}

TEST(ParseRun, NamesMissingSections) {
  EXPECT_THAT(errors_of("[train]\nepochs = 1\n"),
              ElementsAre("run.toml:1:1: error: missing section [model]",
                          "run.toml:1:1: error: missing section [data]"));
}

TEST(ParseRun, NamesThePlaceOfASyntaxError) {
  EXPECT_THAT(errors_of("[model]\nname = lenet\n"),
              ElementsAre(HasSubstr("run.toml:2:8: error: not valid TOML: ")));
  EXPECT_THAT(errors_of("[model]\nname = \"a\"\nname = \"b\"\n"),
              ElementsAre(HasSubstr("run.toml:3:")));
}

TEST(ParseRun, RefusesAKeyThatTheOptimizerDoesNotUse) {
  EXPECT_THAT(errors_of(small_run_with("[optimizer]\nname = \"adam\"\nmomentum = 0.9\n")),
              ElementsAre("run.toml:9:1: error: 'momentum' in [optimizer] has no effect here, only "
                          "with sgd, lars; remove it"));
}

TEST(ParseRun, AMisspeltOptimizerDoesNotMakeItsKeysWrong) {
  EXPECT_EQ(errors_of(small_run_with("[optimizer]\nname = \"adm\"\nbeta1 = 0.8\n")).size(), 1u);
}

TEST(ReadRun, NamesAFileThatIsNotThere) {
  try {
    read_run("no/such/run.toml");
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_STREQ(error.what(),
                 "no/such/run.toml: error: cannot be read: No such file or directory");
  }
}

TEST(ReadRun, RefusesAFolderAndAnEndlessFile) {
  EXPECT_THROW(read_run("."), Error);
  EXPECT_THROW(read_run("/dev/zero"), Error);
}

TEST(LoadRun, ReadsAFile) {
  auto path = std::filesystem::temp_directory_path() /
              ("troika_load_run_" + std::to_string(::getpid()) + ".toml");
  std::ofstream(path) << kSmallRun;
  RunConfig run = load_run(path.string(), std::vector<std::string>{"train.seed=9"});
  std::filesystem::remove(path);
  EXPECT_EQ(run.train.seed, 9);
  EXPECT_EQ(run.model.name, "lenet");
}

TEST(ParseRun, ExplainsASlipInTheSyntaxInItsOwnWords) {
  auto error_of = [](const std::string& line) { return errors_of(line + "\n").at(0); };
  EXPECT_EQ(error_of("name = lenet"),
            "run.toml:1:8: error: not valid TOML: put a text in quotes, such as \"lenet\"");
  EXPECT_THAT(error_of("name = transformer"), HasSubstr("put a text in quotes"));
  EXPECT_THAT(error_of("name = \"lenet"), HasSubstr("a text must end with its quote"));
  EXPECT_THAT(error_of("[model"), HasSubstr("a section is written as [name]"));
  EXPECT_THAT(error_of("name \"lenet\""), HasSubstr("a key is followed by '='"));
  EXPECT_THAT(error_of("epochs ="), HasSubstr("the value is missing"));
  EXPECT_THAT(error_of("[a]\n[a]"), HasSubstr("for the second time"));
  EXPECT_THAT(error_of("x = 2026-13-01"), testing::EndsWith("error: not valid TOML"));
}

TEST(ParseRun, KnowsWhatOtherFrameworksCallAKey) {
  EXPECT_THAT(errors_of(small_run_with("[optimizer]\nlr = 0.1\nwd = 0.01\n")),
              ElementsAre("run.toml:8:1: error: unknown key 'lr' in [optimizer]; did you mean "
                          "'learning_rate'?",
                          "run.toml:9:1: error: unknown key 'wd' in [optimizer]; did you mean "
                          "'weight_decay'?"));
  EXPECT_THAT(errors_of(kSmallRun, {"batch_size=32"}),
              ElementsAre("command line: error: unknown key 'batch_size' outside all sections; did "
                          "you mean 'global_batch' in [train]?"));
  EXPECT_THAT(errors_of(kSmallRun, {"train.max_steps=10"}),
              ElementsAre(HasSubstr("did you mean 'steps'?")));
  EXPECT_THAT(errors_of(small_run_with("[optim]\nlr = 0.1\n")),
              ElementsAre(HasSubstr("unknown section [optim]; did you mean [optimizer]?")));
}

TEST(OtherNames, LeadToKeysAndSectionsThatExist) {
  std::set<std::string, std::less<>> known;
  for (const Entry& entry : list_run({})) {
    known.insert(entry.path);
    known.insert(entry.path.substr(0, entry.path.find('.')));
  }
  for (const OtherName& other : kOtherNames) {
    EXPECT_TRUE(known.contains(other.path)) << other.path;
    EXPECT_EQ(our_name(other.name), other.path) << other.name << " stands there twice";
  }
}

constexpr std::string_view kPlanOnThree =
    R"({"format": "troika plan 1", "micro_batches": 1,
        "splits": {"fc": {"degrees": {"n": 3}, "devices": [0, 1, 2]}}})";

TEST(ReadRun, TakesTheNumberOfDevicesFromAPlanFileUnlessItIsStated) {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("troika-plan-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "three.json") << kPlanOnThree;
  std::ofstream(folder / "run.toml") << small_run_with("[parallel]\nplan = \"three.json\"\n");
  std::string file = (folder / "run.toml").string();
  RunFile run = read_run(file);
  EXPECT_EQ(run.config.parallel.devices, 3);
  EXPECT_EQ(run.origins["parallel.devices"].line, 8u);
  std::vector<std::string> stated{"parallel.devices=5"}, other{"parallel.plan=none.json"};
  EXPECT_EQ(load_run(file, stated).parallel.devices, 5);
  EXPECT_EQ(load_run(file, other).parallel.devices, 1);
  std::ofstream(folder / "four.toml")
      << small_run_with("[parallel]\ndevices = 4\nplan = \"data\"\n");
  std::vector<std::string> displaced{"parallel.plan=" + (folder / "three.json").string()};
  EXPECT_EQ(load_run((folder / "four.toml").string(), displaced).parallel.devices, 3);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace troika::config
