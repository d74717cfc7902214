#include "cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/testing/temporary_folder.h"
#include "cli/version.h"

namespace troika::cli {
namespace {

using testing::HasSubstr;

struct Result {
  int code;
  std::string out;
  std::string err;
};

Result run(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  Console console(out, err, {});
  Context context{console};
  int code = run_program(arguments, context);
  return {code, out.str(), err.str()};
}

TEST(Program, SuggestsTheVerbThatWasMeant) {
  Result result = run({"trian", "run.toml"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("error: 'troika' has no verb 'trian'; did you mean 'train'?"));
  EXPECT_EQ(result.out, "");
}

TEST(Program, ListsTheVerbsWhenNoneIsNear) {
  Result result = run({"frobnicate"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("there are doctor, demo, config, train"));
}

TEST(Program, SuggestsTheOptionThatWasMeant) {
  Result result = run({"train", "run.toml", "--resme"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err,
              HasSubstr("'troika train' has no option '--resme'; did you mean '--resume'?"));
}

TEST(Program, SuggestsTheVerbOfAVerb) {
  Result result = run({"config", "chekc", "run.toml"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean 'check'?"));
}

TEST(Program, AsksForAVerb) {
  Result result = run({});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("'troika' needs a verb; choose one of doctor"));
  EXPECT_THAT(run({"bench"}).err, HasSubstr("'troika bench' needs a verb; choose one of step"));
}

TEST(Program, AsksForAMissingArgument) {
  Result result = run({"train"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err, "error: 'troika train' needs 'RUN.toml'; see troika train --help\n");
}

/// Arguments that the parser refuses, and the whole sentence about them.
struct BadUsage {
  const char* kind;  ///< Of CLI11's exception.
  std::vector<std::string> words;
  const char* said;
};

class Usage : public testing::TestWithParam<BadUsage> {};

TEST_P(Usage, IsRefusedInOurWords) {
  Result result = run(GetParam().words);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err, std::string("error: ") + GetParam().said + "\n");
  EXPECT_EQ(result.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    AllKinds, Usage,
    testing::Values(
        BadUsage{"RequiredSeveral",
                 {"verify"},
                 "'troika verify' needs 'RUN.toml' and '--plans'; see troika verify --help"},
        BadUsage{"RequiredVerb",
                 {"config"},
                 "'troika config' needs a verb; choose one of check, show, reference, init"},
        BadUsage{"ExtrasOption",
                 {"train", "run.toml", "--devices", "2"},
                 "'troika train' has no option '--devices'; see troika train --help"},
        BadUsage{"ExtrasWord",
                 {"eval", "runs/a", "runs/b"},
                 "'troika eval' takes no further argument 'runs/b'; see troika eval --help"},
        BadUsage{"MismatchTooFew",
                 {"train", "run.toml", "-n"},
                 "'-n' needs a value; see troika train --help"},
        BadUsage{"MismatchTooMany",
                 {"train", "run.toml", "--name", "a", "--name", "b"},
                 "'--name' is given 2 times; give it once"},
        BadUsage{"MismatchFlag",
                 {"train", "run.toml", "--json=maybe"},
                 "'--json' takes no value; see troika train --help"},
        BadUsage{"Excludes",
                 {"inspect", "runs/a", "--json", "--dot"},
                 "'--json' and '--dot' exclude each other; give one of them"},
        BadUsage{"ValidationWhole",
                 {"train", "run.toml", "-n", "two"},
                 "'-n' takes a whole number of at least 1, not 'two'; see troika train --help"},
        BadUsage{"ValidationFraction",
                 {"train", "run.toml", "-n", "2.5"},
                 "'-n' takes a whole number of at least 1, not '2.5'; see troika train --help"},
        BadUsage{"ValidationLarge",
                 {"train", "run.toml", "-n", "99999999999"},
                 "'-n' takes a whole number from 1 to 2147483647, not '99999999999'; see troika "
                 "train --help"},
        BadUsage{"ValidationNegative",
                 {"bench", "step", "--model", "mlp", "--batch", "-4"},
                 "'--batch' takes a whole number of at least 1, not '-4'; see troika bench step "
                 "--help"},
        BadUsage{"ValidationRange",
                 {"profile", "--links", "--devices", "2,1"},
                 "'--devices' takes a whole number from 2 to 256, not '1'; see troika profile "
                 "--help"},
        BadUsage{"ValidationNumber",
                 {"profile", "--links", "--seconds", "0"},
                 "'--seconds' takes a number above 0, not '0'; see troika profile --help"},
        BadUsage{"ValidationWord",
                 {"verify", "run.toml", "--plans", "data:2", "--backend", "cup"},
                 "'--backend' takes 'reference' or 'cpu', not 'cup'; did you mean 'cpu'?"}),
    [](const auto& usage) { return std::string(usage.param.kind); });

TEST(Program, VerbsOfOneProcessRefuseMpirun) {
  setenv("PMI_SIZE", "2", 1);
  for (const char* verb : {"eval", "predict"}) {
    Result result = run({verb, "runs/any"});
    EXPECT_EQ(result.code, 2) << verb;
    EXPECT_THAT(result.err, HasSubstr("start it without mpirun"));
  }
  unsetenv("PMI_SIZE");
}

class HelpOfVerb : public testing::TestWithParam<const char*> {};

TEST_P(HelpOfVerb, HasAWorkedExample) {
  Result result = run({GetParam(), "--help"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("Example"));
  EXPECT_THAT(result.out, HasSubstr(std::string("troika ") + GetParam()));
  EXPECT_EQ(result.err, "");
}

INSTANTIATE_TEST_SUITE_P(AllVerbs, HelpOfVerb,
                         testing::Values("doctor", "demo", "config", "train", "eval", "predict",
                                         "models", "profile", "bench", "inspect", "verify"));

TEST(Program, ProfilesEitherARunFileOrLinks) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"profile"}, {"profile", "run.toml", "--links"}}) {
    Result result = run(words);
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("either the kernels of a run file"));
  }
  EXPECT_THAT(run({"profile", "--links", "--devices", "1"}).err, HasSubstr("--devices"));
}

TEST(Program, HelpsWithTheWholeCommand) {
  EXPECT_THAT(run({"config", "check", "--help"}).out,
              HasSubstr("Usage: troika config check [OPTIONS] FILE"));
  EXPECT_THAT(run({"bench", "step", "--modle", "x"}).err,
              HasSubstr("'troika bench step' has no option"));
}

TEST(Program, SaysItsVersion) {
  EXPECT_EQ(run({"--version"}).out, std::string("troika ") + kVersion + "\n");
}

TEST(Program, ReportsAllErrorsOfARunFileInACompilersForm) {
  TemporaryFolder folder;
  std::string file = folder.write("run.toml",
                                  "[model]\nname = \"lenet\"\n[data]\ntrain = "
                                  "\"digits:train\"\n[train]\nepochs = 1\nseeed = 3\n"
                                  "[optimizer]\nlearning_rat = 1\n");
  Result result = run({"config", "check", file});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr(file + ":7:1: error: unknown key 'seeed'"));
  EXPECT_THAT(result.err, HasSubstr("did you mean 'learning_rate'?"));
  EXPECT_THAT(result.err, testing::Not(HasSubstr("error: " + file)));
}

TEST(Program, WritesARunFileThatIsValidAndNeverOverwritesOne) {
  TemporaryFolder folder;
  std::string file = (folder.path() / "mine.toml").string();
  EXPECT_EQ(run({"config", "init", file}).code, 0);
  EXPECT_EQ(run({"config", "check", file}).code, 0);
  EXPECT_EQ(run({"config", "init", file}).code, 2);
  EXPECT_THAT(run({"config", "show", file, "train.seed=9"}).out, HasSubstr("seed = 9"));
}

TEST(Program, ReadsOverridesAfterOptions) {
  TemporaryFolder folder;
  EXPECT_THAT(run({"demo", "--overwrite", "train.epochz=1"}).err,
              HasSubstr("command line: error: unknown key 'epochz' in [train]"));
  std::string file = (folder.path() / "mine.toml").string();
  ASSERT_EQ(run({"config", "init", file}).code, 0);
  EXPECT_THAT(run({"verify", file, "--plans", "data:2", "train.epochz=1"}).err,
              HasSubstr("command line: error: unknown key 'epochz' in [train]"));
}

TEST(Program, KnowsItsDemosByName) {
  Result result = run({"demo", "digit"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean 'digits'?"));
}

TEST(Program, RefusesATimeoutThatIsNoTime) {
  EXPECT_EQ(run({"train", "run.toml", "--timeout", "soon"}).code, 2);
}

TEST(Program, DoctorNamesThePackageOfWhatIsMissing) {
  Result text = run({"doctor"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("processor"));
  EXPECT_THAT(text.out, HasSubstr("oneDNN"));
  EXPECT_THAT(run({"doctor", "--json"}).out, HasSubstr("\"package\": \"libdnnl-dev\""));
}

TEST(Program, ExitsWithTheCodeOfABadFile) {
  EXPECT_EQ(run({"eval", "no-such-run"}).code, 3);
  EXPECT_EQ(run({"predict", "no-such-run"}).code, 3);
  EXPECT_EQ(run({"inspect", "no-such-file"}).code, 3);
}

struct SmallRunFile {
  TemporaryFolder folder;
  std::string file = folder.write(
      "run.toml",
      "[model]\nname = \"mlp\"\nhidden = \"8\"\n[data]\ntrain = \"digits:train?size=32\"\n"
      "[train]\nglobal_batch = 8\nepochs = 1\n");
};

TEST(Program, SharesTheBatchWhereSeveralDevicesHaveNoPlan) {
  SmallRunFile run_file;
  Result result = run({"train", run_file.file, "-n", "2", "--dry-run"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, testing::ContainsRegex("plan +data"));
  EXPECT_THAT(result.out, HasSubstr("8 -> 4 on each of 2 devices"));
  Result single = run({"train", run_file.file, "-n", "2", "--dry-run", "parallel.plan=single"});
  EXPECT_EQ(single.code, 2);
  EXPECT_THAT(single.err, HasSubstr("uses one device, but devices = 2"));
}

TEST(Program, VerifyEndsWellWherePlansAgree) {
  SmallRunFile run_file;
  Result result = run({"verify", run_file.file, "--plans", "data:2,tensor:2", "--steps", "2"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, testing::ContainsRegex("data:2 +2 +same"));
  EXPECT_THAT(result.out, HasSubstr("reference, f64"));
  EXPECT_THAT(run({"verify", run_file.file, "--plans", "data:2", "--steps", "2", "--json"}).out,
              testing::AllOf(HasSubstr("\"agrees\":true"), HasSubstr("\"steps\":2")));
}

TEST(Program, VerifyNamesTheTensorThatDiffersAndExitsWithSix) {
  SmallRunFile run_file;
  Result result =
      run({"verify", run_file.file, "--plans", "data:4", "--steps", "2", "--tolerance", "0"});
  EXPECT_EQ(result.code, 6);
  EXPECT_THAT(result.out, testing::ContainsRegex("data:4 +4 +differs +fc"));
  EXPECT_THAT(result.err, HasSubstr("1 of 1 plans do not compute what one device computes"));
}

TEST(Program, VerifyNamesThePlanThatCannotRun) {
  SmallRunFile run_file;
  std::string plan = run_file.folder.write("plan.json",
                                           R"({"format": "troika plan 1", "micro_batches": 1,
          "splits": {"fc1": {"degrees": {"h": 2}, "devices": [0, 1]}}})");
  Result result = run({"verify", run_file.file, "--plans", "data:2," + plan});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("plan.json' cannot run: "));
  EXPECT_THAT(result.err, HasSubstr("'fc1'"));
  EXPECT_EQ(result.out, "");
}

TEST(Program, SuggestsTheModelOfABenchmark) {
  Result result = run({"bench", "step", "--model", "resnet5"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean 'resnet50'?"));
}

}  // namespace
}  // namespace troika::cli
