#include "train/slow_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/cores.h"
#include "train/small_runs_test.h"

namespace troika {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

std::int64_t cores() { return std::ssize(usable_cores()); }

/// One second in which this process kept all its cores busy.
SystemLoad quiet_second() {
  return {.at = seconds(1), .ran = seconds(cores()), .used = seconds(cores())};
}

TEST(ExplainSlowness, FindsNothingOnAQuietComputer) {
  EXPECT_THAT(explain_slowness({}, quiet_second()), IsEmpty());
}

TEST(ExplainSlowness, BlamesTheQuotaBeforeTheWaitThatItCauses) {
  SystemLoad after = quiet_second();
  after.throttled = milliseconds(600);
  after.queued = seconds(1);
  EXPECT_THAT(explain_slowness({}, after), HasSubstr("cpu.max"));
  EXPECT_THAT(explain_slowness({}, after), HasSubstr("60 %"));
}

TEST(ExplainSlowness, BlamesOtherProcessesWhereThreadsWaitForACore) {
  SystemLoad after = quiet_second();
  after.ran = after.queued = milliseconds(500 * cores());
  after.runnable = 4.2;
  EXPECT_THAT(explain_slowness({}, after), HasSubstr("other processes took 50 % of the time"));
  EXPECT_THAT(explain_slowness({}, after), HasSubstr("50 % of the time (load average 4.2"));
}

TEST(ExplainSlowness, BlamesItsOwnThreadsWhereOnlyTheyUseTheCores) {
  SystemLoad after = quiet_second();
  after.queued = seconds(cores());
  EXPECT_THAT(explain_slowness({}, after), HasSubstr("its own threads compete for"));
}

TEST(ExplainSlowness, BlamesOtherVirtualMachinesDisksAndFrequencies) {
  SystemLoad after = quiet_second();
  after.stolen = seconds(1000);
  EXPECT_THAT(explain_slowness({}, after), HasSubstr("virtual machines"));
  after = quiet_second();
  after.pages_read = 5000;
  EXPECT_THAT(explain_slowness({}, after), HasSubstr("5000 pages"));
  after = quiet_second();
  after.frequency = 8e5;
  after.top_frequency = 3.2e6;
  EXPECT_THAT(explain_slowness({}, after), HasSubstr("0.8 of 3.2 GHz"));
}

TEST(ExplainSlowness, BlamesNobodyWhereTheSystemDoesNotTellWhoUsesTheCores) {
  SystemLoad after{.at = seconds(1), .ran = seconds(1), .queued = seconds(1)};
  EXPECT_EQ(explain_slowness({}, after), "its threads waited for a core 50 % of the time");
}

/// A fake /proc with one thread.
class SlowStepsTest : public testing::Test {
 protected:
  void set_thread(std::int64_t ran, std::int64_t queued) {
    std::filesystem::path thread = folder_.path / "proc/self/task/7";
    std::filesystem::create_directories(thread);
    std::ofstream(thread / "schedstat") << ran << " " << queued << " 12\n";
  }
  /// Sets the ticks that all processes spent on each core in user and system mode.
  void set_cores(std::int64_t ticks) {
    std::ofstream file(folder_.path / "proc/stat");
    file << "cpu 1 1 1 1 1 1 1 1\n";
    for (int core : usable_cores())
      file << "cpu" << core << " " << ticks / 2 << " 0 " << ticks / 2 << " 77 0 0 0 0\n";
  }
  std::string check(const ReportedSteps& steps) { return watched_.check(steps, folder_.path); }

  Folder folder_;
  SlowSteps watched_;
};

TEST_F(SlowStepsTest, WarnOnceAndWithTheReason) {
  set_thread(1'000'000'000, 0);
  set_cores(100);
  watched_.begin(milliseconds(1), read_system_load(folder_.path));
  EXPECT_THAT(check({.steps = 1000, .taken = milliseconds(1100)}), IsEmpty());
  set_thread(1'200'000'000, 600'000'000);
  set_cores(10'000'000);
  EXPECT_THAT(check({.steps = 200, .taken = milliseconds(1600)}),
              testing::AllOf(HasSubstr("a step takes 8.0 ms, 8 times as long as predicted"),
                             HasSubstr("other processes"),
                             HasSubstr("waited for a core 75 % of the time")));
  set_thread(1'300'000'000, 1'600'000'000);
  EXPECT_THAT(check({.steps = 200, .taken = milliseconds(1600)}), IsEmpty());
}

TEST_F(SlowStepsTest, CountTheCoresOfThisProcessWithoutTheirIdleTime) {
  set_thread(0, 0);
  set_cores(100);
  std::ofstream(folder_.path / "proc/stat", std::ios::app) << "cpu100000 900 9 9 9 9 9 9 9\n";
  SystemLoad load = read_system_load(folder_.path);
  std::chrono::nanoseconds tick = std::chrono::nanoseconds(seconds(1)) / sysconf(_SC_CLK_TCK);
  EXPECT_EQ(load.used, 100 * cores() * tick);
  EXPECT_EQ(load.stolen, tick);
}

TEST_F(SlowStepsTest, SayNothingWhereNoCauseIsFound) {
  set_thread(0, 0);
  watched_.begin(milliseconds(1), read_system_load(folder_.path));
  set_thread(1'000'000'000, 0);
  EXPECT_THAT(check({.steps = 200, .taken = milliseconds(1600)}), IsEmpty());
  EXPECT_THAT(check({.steps = 200, .taken = milliseconds(1600), .data_wait = 0.9}),
              HasSubstr("waits for samples 90 %"));
}

TEST_F(SlowStepsTest, JudgeShortStepsTogether) {
  set_thread(0, 0);
  watched_.begin(milliseconds(1), read_system_load(folder_.path));
  set_thread(100, 900);
  for (int step = 0; step < 99; ++step)
    EXPECT_THAT(check({.steps = 1, .taken = milliseconds(10)}), IsEmpty());
  EXPECT_THAT(check({.steps = 1, .taken = milliseconds(10)}), HasSubstr("10 times"));
}

TEST(SystemLoad, IsReadFromThisComputer) {
  SystemLoad load = read_system_load();
  EXPECT_GT(load.ran.count(), 0);
  EXPECT_GE(load.queued.count(), 0);
  EXPECT_GT(load.used.count(), 0);
}

}  // namespace
}  // namespace troika
