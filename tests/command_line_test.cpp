// The program as a user runs it: exit codes, messages, training, stopping and resuming.
#include "command_line.h"

#include <gmock/gmock.h>

#include <csignal>

namespace troika {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(CommandLine, TrainsIntoARunFolderAndSaysHowItWent) {
  Result result = run({"train", "tiny.toml"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("parameters"));
  EXPECT_THAT(result.out, HasSubstr("step 60/60"));
  EXPECT_THAT(result.out, HasSubstr("test_accuracy"));
  EXPECT_THAT(result.out, HasSubstr("run folder: runs/tiny"));
  EXPECT_THAT(result.out, Not(HasSubstr("\r")));
  for (const char* file : {"run.toml", "plan.json", "costs.json", "env.json", "metrics.jsonl",
                           "trace.json", "checkpoints/step-60/index.json"})
    EXPECT_TRUE(fs::exists(path("runs/tiny") / file)) << file;
  EXPECT_THAT(read_text(path("runs/tiny/logs/rank-0")), HasSubstr("step 60/60"));
}

TEST_F(CommandLine, NamesASecondRunApart) {
  ASSERT_EQ(run({"train", "tiny.toml", "train.epochs=1"}).code, 0);
  Result second = run({"train", "tiny.toml", "train.epochs=1"});
  EXPECT_THAT(second.out, HasSubstr("run folder: runs/tiny-2"));
  EXPECT_THAT(second.out, HasSubstr("runs/tiny exists, so this run is runs/tiny-2; --overwrite"));
  EXPECT_THAT(run({"train", "tiny.toml", "train.epochs=1", "--name", "tiny"}).out,
              HasSubstr("run folder: runs/tiny-3"));
}

TEST_F(CommandLine, OverwriteReplacesTheRunThatHasTheName) {
  ASSERT_EQ(run({"train", "tiny.toml", "train.epochs=2"}).code, 0);
  Result again = run({"train", "tiny.toml", "train.epochs=1", "--overwrite"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("run folder: runs/tiny\n"));
  EXPECT_TRUE(fs::exists(path("runs/tiny/checkpoints/step-20")));
  EXPECT_FALSE(fs::exists(path("runs/tiny/checkpoints/step-40")));
  EXPECT_FALSE(fs::exists(path("runs/tiny-2")));
}

TEST_F(CommandLine, OverwriteLeavesOtherFoldersAndItsOwnStartAlone) {
  folder_.write("runs/tiny/thesis.tex", "years");
  Result other = run({"train", "tiny.toml", "train.epochs=1", "--overwrite"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("'runs/tiny' is not a run folder"));
  EXPECT_TRUE(fs::exists(path("runs/tiny/thesis.tex")));
  ASSERT_EQ(run({"train", "tiny.toml", "train.epochs=1", "--name", "start"}).code, 0);
  Result itself = run({"train", "tiny.toml", "--name", "start", "--overwrite", "--from",
                       "runs/start/checkpoints/step-20"});
  EXPECT_EQ(itself.code, 2);
  EXPECT_TRUE(fs::exists(path("runs/start/checkpoints/step-20")));
  EXPECT_EQ(run({"train", "--resume", "runs/start", "--overwrite"}).code, 2);
}

TEST_F(CommandLine, ADryRunShowsTheTableAndWritesNothing) {
  Result result = run({"train", "tiny.toml", "--dry-run"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("global batch"));
  EXPECT_FALSE(fs::exists(path("runs")));
}

TEST_F(CommandLine, PrintsNothingButJsonWhenAsked) {
  Result result = run({"train", "tiny.toml", "train.epochs=1", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["step"], 20);
  EXPECT_EQ(json["interrupted"], false);
  EXPECT_THAT(result.err, HasSubstr("step 20/20"));
}

TEST_F(CommandLine, StopsOnASignalSavesAndResumesWithTheSameBits) {
  for (int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    std::string name = "stopped-" + std::to_string(signal), folder = "runs/" + name;
    pid_t child = start({"train", "tiny.toml", "--name", name, "train.epochs=1000000",
                         "train.evaluate=never", "checkpoint.every=never"});
    ASSERT_TRUE(appears(folder + "/metrics.jsonl", "\"step\":5"));
    kill(child, signal);
    Result stopped = wait_for(child);
    ASSERT_EQ(stopped.code, 75) << stopped.err;
    ASSERT_THAT(stopped.out, HasSubstr("stopped after step"));
    EXPECT_THAT(stopped.out, HasSubstr("troika train --resume " + folder));

    std::int64_t step = std::stoll(stopped.out.substr(stopped.out.find("stopped after step") + 19));
    std::string length = "train.steps=" + std::to_string(step + 30);
    Result resumed = run({"train", "--resume", folder, length});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_THAT(resumed.out, HasSubstr("resumed from " + folder + "/checkpoints/step-"));
    EXPECT_THAT(resumed.out, Not(HasSubstr("step 5/")));  // no step is done twice
    std::string whole = "whole-" + std::to_string(signal);
    ASSERT_EQ(run({"train", "tiny.toml", "--name", whole, length, "train.evaluate=never",
                   "checkpoint.every=never"})
                  .code,
              0);
    std::string last = "checkpoints/step-" + std::to_string(step + 30);
    for (const char* file : {"model.safetensors", "optimizer.safetensors"})
      EXPECT_EQ(read_text(path("runs/" + whole) / last / file),
                read_text(path(folder) / last / file));
  }
}

TEST_F(CommandLine, StopsWhenTheStopFileAppears) {
  pid_t child = start({"train", "tiny.toml", "train.epochs=2000"});
  ASSERT_TRUE(appears("runs/tiny/metrics.jsonl", "\"step\":5"));
  folder_.write("runs/tiny/stop", "");
  Result result = wait_for(child);
  EXPECT_EQ(result.code, 75) << result.err;
  EXPECT_THAT(result.out, HasSubstr("stopped after step"));
  EXPECT_THAT(read_text(path("runs/tiny/logs/rank-0")), HasSubstr("exit code 75"));
  EXPECT_FALSE(fs::exists(path("runs/tiny/stop")));
}

TEST_F(CommandLine, ASecondInterruptEndsAtOnceAndLeavesTheRunUsable) {
  // Slow kernels, so that both interrupts come within one step.
  pid_t child = start({"train", "tiny.toml", "kernels.backend=reference", "model.hidden=512",
                       "train.global_batch=200", "train.epochs=1000", "log.every=1 steps",
                       "checkpoint.every=2 steps"});
  ASSERT_TRUE(appears("runs/tiny/metrics.jsonl", "\"step\":3"));
  kill(child, SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  kill(child, SIGINT);
  Result result = wait_for(child);
  EXPECT_EQ(result.code, 130);
  EXPECT_THAT(result.out, Not(HasSubstr("stopped after")));
  Result usable = run({"eval", "runs/tiny"});
  EXPECT_EQ(usable.code, 0) << usable.err;
}

TEST_F(CommandLine, ResumesTheNewestRunOfAFile) {
  ASSERT_EQ(run({"train", "tiny.toml", "train.epochs=1"}).code, 0);
  ASSERT_EQ(run({"train", "tiny.toml", "train.epochs=1"}).code, 0);
  Result longer = run({"train", "--resume", "tiny.toml"});
  EXPECT_EQ(longer.code, 0) << longer.err;
  EXPECT_THAT(longer.out, HasSubstr("runs/tiny-2/checkpoints/step-20"));
  EXPECT_THAT(longer.out, HasSubstr("step 60/60"));
  EXPECT_THAT(run({"train", "--resume", "tiny.toml"}).out,
              HasSubstr("the run is complete at step 60"));
}

TEST_F(CommandLine, RefusesToResumeWithoutARun) {
  Result result = run({"train", "--resume", "tiny.toml"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("there is no run of 'tiny.toml'"));
  EXPECT_EQ(run({"train", "--resume", "."}).code, 3);
  EXPECT_EQ(run({"train", "--resume", "tiny.toml", "--from", "x"}).code, 2);
}

TEST_F(CommandLine, StartsFromTheWeightsOfAnotherRun) {
  ASSERT_EQ(run({"train", "tiny.toml"}).code, 0);
  Result result =
      run({"train", "tiny.toml", "--from", "runs/tiny", "train.steps=1", "--name", "tuned"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("starts from the weights of runs/tiny"));
  EXPECT_THAT(result.err, Not(HasSubstr("random")));
  EXPECT_EQ(run({"train", "tiny.toml", "--from", "nowhere", "--name", "other"}).code, 3);
}

TEST_F(CommandLine, EvaluatesAsTheRunDidAndOnOtherSamples) {
  ASSERT_EQ(run({"train", "tiny.toml"}).code, 0);
  auto lines = metrics_without_times("runs/tiny");
  auto last = nlohmann::json::parse(lines.substr(lines.rfind('\n', lines.size() - 2) + 1));
  Result whole = run({"eval", "runs/tiny", "--json"});
  ASSERT_EQ(whole.code, 0) << whole.err;
  auto json = nlohmann::json::parse(whole.out);
  EXPECT_NEAR(json["test_loss"], last["test_loss"], 1e-5);
  EXPECT_EQ(json["test_accuracy"], last["test_accuracy"]);
  EXPECT_EQ(json["step"], 60);
  auto part = nlohmann::json::parse(
      run({"eval", "runs/tiny/checkpoints/step-60", "--data", "digits:test[0:30]", "--json"}).out);
  EXPECT_EQ(part["samples"], 30);
  Result unfit = run({"eval", "runs/tiny", "--data", "text:tiny.toml"});
  EXPECT_EQ(unfit.code, 2);
  EXPECT_THAT(unfit.err, HasSubstr("the model was trained on samples"));
}

TEST_F(CommandLine, PredictsTheClassesOfSamples) {
  ASSERT_EQ(run({"train", "tiny.toml", "data.train=digits:train?size=3000"}).code, 0);
  Result result = run({"predict", "runs/tiny", "--data", "digits:test[0:40]", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  std::istringstream lines(result.out);
  int count = 0, right = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json["index"], count);
    right += json["predicted"] == json["target"] ? 1 : 0;
  }
  EXPECT_EQ(count, 40);
  EXPECT_GT(right, 25);  // 4 would be luck
  EXPECT_EQ(run({"predict", "runs/tiny", "--prompt", "hello"}).code, 2);
}

TEST_F(CommandLine, WritesTextWithALanguageModel) {
  std::string song;
  for (int line = 0; line < 200; ++line) song += "abcdefgh\n";
  folder_.write("song.txt", song);
  folder_.write("song.toml",
                "[model]\nname = \"rnnlm\"\nhidden = 32\nlayers = 1\n[data]\ntrain = "
                "\"text:song.txt\"\nsequence = 18\n"
                "[train]\nglobal_batch = 10\nsteps = 150\n[optimizer]\nname = "
                "\"adam\"\nlearning_rate = 0.02\n[parallel]\nthreads = 1\n");
  Result trained = run({"train", "song.toml"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  Result result =
      run({"predict", "runs/song", "--prompt", "abc", "--tokens", "23", "--temperature", "0"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "abcdefgh\nabcdefgh\nabcdefgh\n");
  EXPECT_EQ(run({"predict", "runs/song", "--prompt", "xyz"}).code, 2);
  std::string first = run({"predict", "runs/song", "--seed", "4", "--temperature", "3"}).out;
  EXPECT_EQ(first, run({"predict", "runs/song", "--seed", "4", "--temperature", "3"}).out);
}

TEST_F(CommandLine, NamesTheOperatorOfALossThatIsNotFinite) {
  Result result = run({"train", "tiny.toml", "optimizer.learning_rate=1e30"});
  EXPECT_EQ(result.code, 6);
  EXPECT_THAT(result.err, HasSubstr("is not finite"));
  EXPECT_THAT(read_text(path("runs/tiny/logs/rank-0")), HasSubstr("(exit code 6)"));
}

TEST_F(CommandLine, ReportsBadDataBeforeAnythingIsMade) {
  Result result = run({"train", "tiny.toml", "data.train=idx:nowhere"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("idx:nowhere"));
  EXPECT_FALSE(fs::exists(path("runs")));
}

TEST_F(CommandLine, InspectsWhatARunLeaves) {
  ASSERT_EQ(run({"train", "tiny.toml", "train.epochs=1"}).code, 0);
  auto kind = [&](const std::string& file) {
    Result result = run({"inspect", file, "--json"});
    return result.code == 0 ? nlohmann::json::parse(result.out)["kind"].get<std::string>()
                            : result.err;
  };
  EXPECT_EQ(kind("runs/tiny"), "run folder");
  EXPECT_EQ(kind("runs/tiny/checkpoints/step-20"), "checkpoint");
  EXPECT_EQ(kind("runs/tiny/checkpoints/step-20/model.safetensors"), "safetensors file");
  EXPECT_EQ(kind("runs/tiny/run.toml"), "run file");
  EXPECT_EQ(kind("runs/tiny/plan.json"), "plan");
  EXPECT_EQ(kind("runs/tiny/costs.json"), "cost file");
  EXPECT_EQ(kind("runs/tiny/metrics.jsonl"), "metrics");
  EXPECT_EQ(run({"inspect", "/proc/self/exe"}).code, 3);
}

TEST_F(CommandLine, BenchesAStepWithThePublishedKeys) {
  Result result = run({"bench", "step", "--model", "lenet", "--batch", "4", "--threads", "1",
                       "--repeats", "3", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  auto json = nlohmann::ordered_json::parse(result.out);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys,
            (std::vector<std::string>{
                "model", "batch", "threads", "devices", "step_ms", "samples_per_second",
                "items_per_second", "gflops", "peak_bytes", "predicted_ms", "repeats", "limit_ms",
                "matmul_gflops", "copy_gbps", "exposed_communication", "ledgers", "tasks"}));
  EXPECT_GT(json["predicted_ms"], 0);
  EXPECT_EQ(json["repeats"].size(), 3u);
  EXPECT_EQ(json["batch"], 4);
}

TEST_F(CommandLine, TheDemoLearnsAndSaysWhatToTryNext) {
  Result result = run({"demo", "digits", "train.epochs=1", "data.train=digits:train?size=320",
                       "data.test=digits:test?size=100"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("final test accuracy"));
  EXPECT_THAT(result.out, HasSubstr("runs/digits/run.toml"));
  EXPECT_THAT(result.out, HasSubstr("Try next"));
  EXPECT_EQ(run({"config", "check", "runs/digits/run.toml"}).code, 0);
}

TEST_F(CommandLine, InspectDrawsTheTasksOfARunFileAndOfTheFolderItMade) {
  Result before = run({"inspect", "tiny.toml", "--dot"});
  ASSERT_EQ(before.code, 0) << before.err;
  EXPECT_THAT(before.out, testing::StartsWith("digraph \"train\" {"));
  EXPECT_THAT(before.out, HasSubstr(" -> "));
  ASSERT_EQ(run({"train", "tiny.toml", "-n", "2", "train.epochs=1"}).code, 0);
  for (const char* target : {"runs/tiny", "runs/tiny/run.toml", "runs/tiny/plan.json"}) {
    Result drawn = run({"inspect", target, "--dot"});
    ASSERT_EQ(drawn.code, 0) << drawn.err;
    EXPECT_THAT(drawn.out, HasSubstr("device 1\"")) << target;
    EXPECT_THAT(drawn.out, HasSubstr("shape=ellipse")) << target;
  }
  Result other = run({"inspect", "digits:train", "--dot"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("give a run folder, a run file, or the plan.json"));
}

TEST_F(CommandLine, InspectShowsTheClassesOfDevicesOfAPlan) {
  ASSERT_EQ(run({"train", "tiny.toml", "-n", "2", "train.epochs=1"}).code, 0);
  Result shown = run({"inspect", "runs/tiny/plan.json", "--classes"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, testing::StartsWith(
                             "2 devices in 1 class; a task graph of 1 device stands for all\n"));
  EXPECT_THAT(shown.out, HasSubstr("difference from the class before\n"));
  Result json = run({"inspect", "runs/tiny/plan.json", "--classes", "--json"});
  ASSERT_EQ(json.code, 0) << json.err;
  EXPECT_EQ(nlohmann::json::parse(json.out)["programs"][0]["classes"][0]["devices"], "0-1");
  Result other = run({"inspect", "runs/tiny", "--classes"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("'runs/tiny' is not a plan; give a plan file"));
}

}  // namespace
}  // namespace troika
