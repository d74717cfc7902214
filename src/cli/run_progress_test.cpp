#include "cli/run_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace troika::cli {
namespace {

using testing::HasSubstr;

const StepReport kReport{.step = 50,
                         .total_steps = 100,
                         .epoch = 0.5,
                         .samples = 3200,
                         .loss = 0.25,
                         .learning_rate = 0.05,
                         .samples_per_second = 6400,
                         .step_ms = 10,
                         .data_wait = 0.03};

TEST(StepLine, SaysWhereTheRunIsHowFastAndHowLongItWillTake) {
  EXPECT_EQ(step_line(kReport),
            "step 50/100  epoch 0.50  loss 0.2500  6,400 samples/s  ETA 0.5 s  data wait 3 %");
}

TEST(StepLine, NamesFurtherLosses) {
  StepReport report = kReport;
  report.more = {{"generator", 1.5}};
  EXPECT_THAT(step_line(report), HasSubstr("generator loss 1.5000"));
}

TEST(LiveLine, FitsEightyColumnsAndSaysWhatTheRunWaitsFor) {
  StepReport report = kReport;
  report.communication_wait = 0.12;
  EXPECT_EQ(live_line(report, 100),
            "step 50/100  epoch 0.50  loss 0.2500  6,400 samples/s  ETA 0.5 s  waits: comm 12% "
            "data 3%");
  report.step = 123'456;
  report.total_steps = 1'000'000;
  report.epoch = 123.45;
  report.step_ms = 12;
  report.more = {{"generator", 1.5}};
  std::string line = live_line(report, 79);
  EXPECT_LE(line.size(), 79u) << line;
  EXPECT_THAT(line, HasSubstr("step 123456/1000000"));
  EXPECT_THAT(line, HasSubstr("waits: comm 12% data 3%"));
}

TEST(EvaluationLine, NamesTheSetAndWritesSharesAsPercentages) {
  using M = Metric::Measure;
  EXPECT_EQ(
      evaluation_line({.step = 7, .epoch = 1, .figures = {{M::loss, 0.5}, {M::accuracy, 0.972}}}),
      "step 7  epoch 1.00  test_loss 0.5000  test_accuracy 97.20 %");
  EXPECT_EQ(evaluation_line({.step = 7,
                             .epoch = 1,
                             .set = Metric::Set::validation,
                             .figures = {{M::loss, 0.5}, {M::perplexity, 1.6487}}}),
            "step 7  epoch 1.00  validation_loss 0.5000  validation_perplexity 1.6487");
}

TEST(RunProgress, WritesPlainLinesWhereNobodyLooks) {
  std::ostringstream out, err;
  Console console(out, err, {});
  RunProgress(console).step(kReport);
  EXPECT_EQ(out.str(), step_line(kReport) + "\n");
}

TEST(RunProgress, KeepsOneLiveLineOnATerminal) {
  std::ostringstream out, err;
  Console console(out, err, {.out_is_terminal = true, .width = 40});
  RunProgress progress(console);
  progress.step(kReport);
  progress.step(kReport);
  EXPECT_EQ(out.str().find('\n'), std::string::npos);
  const EvaluationReport evaluation{
      .step = 50, .epoch = 0.5, .figures = {{Metric::Measure::loss, 1}}};
  progress.evaluated(evaluation);
  EXPECT_THAT(out.str(), testing::EndsWith("\r\x1b[K" + evaluation_line(evaluation) + "\n"));
}

TEST(RunProgress, MovesTheLiveLineTenTimesASecondAtMostAndWritesNothingElsewhere) {
  using std::chrono::milliseconds;
  std::ostringstream out, err, plain;
  Console terminal(out, err, {.out_is_terminal = true, .width = 40}), pipe(plain, err, {});
  RunProgress::Clock::time_point now{milliseconds(5000)};
  RunProgress live(terminal, [&] { return now; }), lines(pipe);
  StepReport report = kReport;
  for (report.step = 1; report.step <= 100; ++report.step, now += milliseconds(20)) {
    live.moved(report);
    lines.moved(report);
  }
  EXPECT_EQ(std::ranges::count(out.str(), '\r'), 20);  // in two seconds
  EXPECT_THAT(out.str(), HasSubstr("step 96/100"));
  EXPECT_EQ(plain.str(), "");
  // A report that is due comes at once, and the next glance counts from there.
  live.step(report);
  now += milliseconds(99);
  live.moved(report);
  EXPECT_EQ(std::ranges::count(out.str(), '\r'), 21);
}

TEST(RunProgress, CutsTheLiveLineToTheTerminal) {
  std::ostringstream out, err;
  Console console(out, err, {.out_is_terminal = true, .width = 12});
  RunProgress(console).step(kReport);
  EXPECT_EQ(out.str(), "\r\x1b[Kstep 50/100");
}

TEST(RunProgress, LeavesStdoutAloneWhileItIsForJson) {
  std::ostringstream out, err;
  Console console(out, err, {});
  console.reserve_out();
  RunProgress(console).step(kReport);
  EXPECT_EQ(out.str(), "");
  EXPECT_EQ(err.str(), step_line(kReport) + "\n");
}

TEST(Console, ColoursTheWordErrorOnlyWhereColourIsWanted) {
  auto error_with = [](const Environment& environment) {
    std::ostringstream out, err;
    Console(out, err, environment).fail("no.");
    return err.str();
  };
  EXPECT_EQ(error_with({.err_is_terminal = true, .wants_color = true}),
            "\x1b[31merror: \x1b[0mno.\n");
  EXPECT_EQ(error_with({.err_is_terminal = true, .wants_color = false}), "error: no.\n");
  EXPECT_EQ(error_with({.err_is_terminal = false, .wants_color = true}), "error: no.\n");
}

}  // namespace
}  // namespace troika::cli
