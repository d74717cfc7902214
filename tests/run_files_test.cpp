// The files of a run are written by one process at a time, and failures to write are reported.
#include <gmock/gmock.h>

#include <csignal>
#include <set>

#include "base/units.h"
#include "command_line.h"

namespace troika {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Start kOther{.out = "out2", .err = "err2"};

/// Returns the steps of the lines in a metrics file.
std::vector<int> steps_in(const fs::path& metrics) {
  std::vector<int> steps;
  std::istringstream lines(read_text(metrics));
  for (std::string line; std::getline(lines, line);)
    if (auto json = nlohmann::json::parse(line); json.contains("loss"))
      steps.push_back(json["step"]);
  return steps;
}

std::vector<int> every_fifth(int last) {
  std::vector<int> steps;
  for (int step = 5; step <= last; step += 5) steps.push_back(step);
  return steps;
}

class OneWriter : public CommandLine {
 protected:
  /// Starts a run that takes seconds and stops it with SIGSTOP after some steps.
  pid_t start_and_stop() {
    pid_t writer = start({"train", "tiny.toml", "--name", "shared", "model.hidden=512",
                          "train.epochs=100", "checkpoint.every=40 steps"});
    EXPECT_TRUE(appears("runs/shared/checkpoints/latest", "step-"));
    kill(writer, SIGSTOP);
    return writer;
  }

  /// Returns a number of epochs that the newest checkpoint has not reached.
  int epochs_past_checkpoint() {
    std::string name = read_text(path("runs/shared/checkpoints/latest"));
    return std::stoi(name.substr(name.find('-') + 1)) / kStepsPerEpoch + 2;
  }

  static constexpr int kStepsPerEpoch = 20;

  /// Takes over the lease as a process of another computer would.
  void take_over_from_elsewhere() {
    std::ofstream(path("runs/shared/lock.new"))
        << R"({"host":"elsewhere","process":4711,"started":"2026-01-01 00:00:00","boot":"other"})";
    fs::rename(path("runs/shared/lock.new"), path("runs/shared/lock"));
  }

  void make_lease_old() {
    fs::last_write_time(path("runs/shared/lock"),
                        fs::file_time_type::clock::now() - std::chrono::minutes(5));
  }
};

TEST_F(OneWriter, AStoppedRunKeepsItsFolderAndLosesNoRows) {
  pid_t writer = start_and_stop();
  Result second = run({"train", "--resume", "runs/shared"}, kOther);
  EXPECT_EQ(second.code, 2);
  EXPECT_THAT(second.err, AllOf(HasSubstr("is being written by process " + std::to_string(writer)),
                                HasSubstr("kill -CONT " + std::to_string(writer))));
  kill(writer, SIGCONT);
  kill(writer, SIGTERM);
  wait_for(writer);
  std::vector<int> steps = steps_in(path("runs/shared/metrics.jsonl"));
  ASSERT_FALSE(steps.empty());
  // The last row is from the stop, which may come at any step.
  int last = steps.back();
  if (last % 5 != 0) steps.pop_back();
  EXPECT_EQ(steps, every_fifth(last));
  EXPECT_FALSE(fs::exists(path("runs/shared/lock")));
}

TEST_F(OneWriter, ARunThatWakesUpWithoutItsLeaseWritesNothing) {
  pid_t writer = start_and_stop();
  take_over_from_elsewhere();
  std::string before = read_text(path("runs/shared/metrics.jsonl"));
  kill(writer, SIGCONT);
  Result result = wait_for(writer);
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("process 4711 on elsewhere has taken over the run folder "
                                    "'runs/shared' while this process was stopped"));
  EXPECT_EQ(read_text(path("runs/shared/metrics.jsonl")), before);
  EXPECT_THAT(read_text(path("runs/shared/lock")), HasSubstr("elsewhere"));
}

TEST_F(OneWriter, ALeaseOfAnotherComputerCountsUntilItIsStale) {
  ASSERT_EQ(run({"train", "tiny.toml", "--name", "shared", "train.epochs=1"}).code, 0);
  take_over_from_elsewhere();
  Result early = run({"train", "--resume", "runs/shared", "train.epochs=2"});
  EXPECT_EQ(early.code, 2);
  EXPECT_THAT(early.err, AllOf(HasSubstr("process 4711 on elsewhere"), HasSubstr("last seen")));
  make_lease_old();
  Result late = run({"train", "--resume", "runs/shared", "train.epochs=2"});
  EXPECT_EQ(late.code, 0) << late.err;
  EXPECT_THAT(late.err, HasSubstr("took over the run folder from process 4711 on elsewhere"));
  EXPECT_EQ(steps_in(path("runs/shared/metrics.jsonl")), every_fifth(40));
}

TEST_F(OneWriter, ARunThatIsBeingWrittenIsNotOverwritten) {
  pid_t writer = start_and_stop();
  Result second = run({"train", "tiny.toml", "--name", "shared", "--overwrite"}, kOther);
  EXPECT_EQ(second.code, 2);
  EXPECT_THAT(second.err, HasSubstr("is being written by process"));
  EXPECT_TRUE(fs::exists(path("runs/shared/checkpoints/latest")));
  kill(writer, SIGKILL);
  wait_for(writer);
}

TEST_F(OneWriter, AKilledRunIsResumedAtOnce) {
  pid_t writer = start_and_stop();
  kill(writer, SIGKILL);
  EXPECT_EQ(wait_for(writer).code, 1000 + SIGKILL);
  int epochs = epochs_past_checkpoint();
  Result second =
      run({"train", "--resume", "runs/shared", "train.epochs=" + std::to_string(epochs)});
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr("which ended without closing it"));
  EXPECT_EQ(steps_in(path("runs/shared/metrics.jsonl")), every_fifth(epochs * kStepsPerEpoch));
}

TEST_F(OneWriter, RunsThatStartAtOnceGetFoldersOfTheirOwn) {
  constexpr int kRuns = 6;
  std::vector<pid_t> runs;
  for (int at = 0; at < kRuns; ++at)
    runs.push_back(start({"train", "tiny.toml", "train.epochs=1", "kernels.measure=false"},
                         {.out = "out" + std::to_string(at), .err = "err" + std::to_string(at)}));
  std::set<std::string> folders;
  for (int at = 0; at < kRuns; ++at) {
    Result result =
        wait_for(runs[static_cast<std::size_t>(at)],
                 {.out = "out" + std::to_string(at), .err = "err" + std::to_string(at)});
    EXPECT_EQ(result.code, 0) << result.err;
    folders.insert(result.out.substr(result.out.rfind("run folder: ")));
  }
  EXPECT_EQ(folders.size(), static_cast<std::size_t>(kRuns));
  for (const fs::directory_entry& folder : fs::directory_iterator(path("runs")))
    EXPECT_EQ(steps_in(folder.path() / "metrics.jsonl"), every_fifth(20)) << folder.path();
}

class LostOutput : public CommandLine {};

TEST_F(LostOutput, OfAFullDiskIsAFailure) {
  Result result = run({"inspect", "tiny.toml"}, {.out = "/dev/full"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("cannot write to stdout: No space left on device"));
  EXPECT_EQ(run({"inspect", "tiny.toml", "--json"}, {.out = "/dev/full"}).code, 3);
  EXPECT_EQ(run({"--help"}, {.out = "/dev/full"}).code, 3);
  EXPECT_EQ(run({"inspect", "tiny.toml"}).code, 0);
}

TEST_F(LostOutput, LeavesTheCodeOfAnEarlierFailure) {
  EXPECT_EQ(run({"inspect", "missing.toml"}, {.out = "/dev/full"}).code, 3);
  EXPECT_EQ(run({"train", "tiny.toml", "train.epochs=0"}, {.out = "/dev/full"}).code, 2);
}

TEST_F(LostOutput, OfATrainingRunIsToldAtItsEnd) {
  Result result = run({"train", "tiny.toml", "train.epochs=1"}, {.out = "/dev/full"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("cannot write to stdout"));
  EXPECT_TRUE(fs::exists(path("runs/tiny/checkpoints/step-20/index.json")));
}

TEST_F(LostOutput, OfAFileSizeLimitIsAFailure) {
  Result result = run({"--help"}, {.file_limit = 64});
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.out.size(), 64u);
}

/// Returns the first file of a run that is larger than the limit.
struct Limit {
  std::string name;
  rlim_t bytes;
  std::string file;
  std::vector<std::string> overrides;
};

class FileSizeLimit : public CommandLine, public testing::WithParamInterface<Limit> {};

TEST_P(FileSizeLimit, EndsARunWithASentence) {
  std::vector<std::string> words{"train", "tiny.toml", "kernels.measure=false"};
  words.insert(words.end(), GetParam().overrides.begin(), GetParam().overrides.end());
  Result result = run(words, {.out = "/dev/null", .file_limit = GetParam().bytes});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(
      result.err,
      AllOf(HasSubstr("cannot write"), HasSubstr(GetParam().file), HasSubstr("File too large"),
            HasSubstr("this process may write files of at most " +
                      to_string(Bytes{static_cast<std::int64_t>(GetParam().bytes)}))));
}

INSTANTIATE_TEST_SUITE_P(
    Files, FileSizeLimit,
    testing::Values(Limit{"metrics",
                          50'000,
                          "metrics.jsonl",
                          {"train.epochs=100", "log.every=1 steps", "checkpoint.every=never"}},
                    Limit{"checkpoint", 1'000'000, "model.safetensors", {"model.hidden=512"}},
                    Limit{"trace",
                          16'000,
                          "trace.json",
                          {"model.hidden=1", "train.epochs=1", "parallel.devices=4",
                           "parallel.plan=data"}}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace troika
