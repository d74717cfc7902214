// Ranks started by mpirun: what they send arrives, and whatever happens to one of them becomes an
// error on the others, in time and with its name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/random.h"
#include "base/testing/test_effort.h"
#include "differences.h"
#include "mpi_job.h"

namespace troika {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

class MpiRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (!MpiJob::launcher_is_there())
      GTEST_SKIP() << "no MPI: " << TROIKA_MPIRUN << " is not there";
  }

  static void expect_well(int ranks, const std::vector<std::string>& scene) {
    MpiJob job(ranks, scene);
    int code = job.wait(seconds(90));
    EXPECT_EQ(code, 0) << ranks << " ranks, " << scene[1] << ", " << scene[0] << "\n"
                       << job.output();
    EXPECT_THAT(job.output(), HasSubstr("ok: "));
  }
};

TEST_F(MpiRanks, MessagesBetweenAllDevicesArriveHoweverThreadsShareMpi) {
  for (const char* threading : {"multiple", "serialized"}) {
    expect_well(2, {threading, "messages", "2"});
    expect_well(3, {threading, "messages", "1"});
  }
}

TEST_F(MpiRanks, AReceiveThatWasGivenUpTakesNoMessageOfAnother) {
  for (const char* threading : {"multiple", "serialized"}) {
    expect_well(2, {threading, "abandoned"});
  }
}

TEST_F(MpiRanks, EveryCollectiveGivesTheBitsThatItGivesOnThreadsAndWhatAPlainLoopGives) {
  for (int ranks : {2, 3, 4}) expect_well(ranks, {"multiple", "collectives", "1"});
}

TEST_F(MpiRanks, TwoProcessesOfTwoDevicesMixThreadsAndMpi) {
  for (const char* threading : {"multiple", "serialized"}) {
    expect_well(2, {threading, "collectives", "2"});
  }
}

TEST_F(MpiRanks, ThatWillNotDoTheSameSayInWhatTheyDiffer) {
  MpiJob job(3, {"multiple", "agreement"});
  for (int rank = 0; rank < 3; ++rank) {
    // Each finds it out for itself, or hears it from another first.
    ASSERT_TRUE(wait_until(seconds(20), [&] {
      return job.has_left(rank, 2) || job.has_left(rank);
    })) << job.output();
    EXPECT_THAT(job.last_words(rank),
                AllOf(HasSubstr("plan differs"), HasSubstr("rank 0 has 'two'"),
                      HasSubstr("rank 2 has '2'")));
  }
  EXPECT_NE(job.wait(seconds(20)), 0);
}

// The rank that fails keeps its own code and sentence; the others have lost a peer.
TEST_F(MpiRanks, ThatFailSayWhyThemselvesAndTheOthersName) {
  struct Failure {
    const char *word, *sentence;
    int code;
  };
  for (const Failure& failure :
       {Failure{"usage", "there is no such option", 2},
        Failure{"file", "samples.bin is cut off", 3}, Failure{"memory", "bad_alloc", 4},
        Failure{"bug", "one is two", 70}, Failure{"device", "its disk is full", 3}}) {
    MpiJob job(3, {"multiple", "alone", failure.word});
    EXPECT_TRUE(wait_until(seconds(20), [&] { return job.has_left(1, failure.code); }))
        << failure.word << "\n"
        << job.output();
    EXPECT_THAT(job.last_words(1), testing::StartsWith("error: ")) << failure.word;
    EXPECT_THAT(job.last_words(1), HasSubstr(failure.sentence));
    for (int rank : {0, 2}) {
      EXPECT_TRUE(wait_until(milliseconds(1500), [&] { return job.has_left(rank); }))
          << failure.word << ", rank " << rank << "\n"
          << job.output();
      EXPECT_THAT(job.last_words(rank),
                  AllOf(HasSubstr("rank 1 gave up"), HasSubstr(failure.sentence)));
    }
    EXPECT_NE(job.wait(seconds(20)), 0);
  }
}

struct Strike {
  int ranks, victim;
  milliseconds limit;
  std::uint64_t attempt;
};

void expect_named(const MpiJob& job, const Strike& strike) {
  auto others_left = [&] {
    for (int rank = 0; rank < strike.ranks; ++rank) {
      if (rank != strike.victim && !job.has_left(rank)) return false;
    }
    return true;
  };
  EXPECT_TRUE(wait_until(strike.limit, others_left)) << "attempt " << strike.attempt;
  for (int rank = 0; rank < strike.ranks; ++rank) {
    if (rank == strike.victim) continue;
    EXPECT_THAT(job.last_words(rank),
                AllOf(HasSubstr("rank " + std::to_string(strike.victim) + " is lost"),
                      HasSubstr("call "), HasSubstr("group 'world'")))
        << "rank " << rank << " of " << strike.ranks << ", attempt " << strike.attempt << "\n"
        << job.output();
  }
}

/// Something happens to one rank while calls are made: the others say so within the limit.
void strike(int signal, milliseconds limit, std::uint64_t attempt) {
  RandomStream random{.key = 17, .stream = static_cast<std::uint64_t>(signal)};
  int ranks = 2 + static_cast<int>(attempt % 3);
  int victim = static_cast<int>(random.below(2 * attempt, static_cast<std::uint64_t>(ranks)));
  MpiJob job(ranks, {"multiple", "calls", "-1"});
  ASSERT_TRUE(wait_until(seconds(30), [&] { return job.all_at_work(); })) << job.output();
  std::this_thread::sleep_for(milliseconds(random.below(2 * attempt + 1, 400)));
  job.send(victim, signal);
  if (signal == SIGKILL && MpiJob::launcher_kills_survivors()) {
    EXPECT_NE(job.wait(seconds(2)), -1) << "attempt " << attempt;
    return;
  }
  expect_named(job, {.ranks = ranks, .victim = victim, .limit = limit, .attempt = attempt});
  job.send(victim, SIGKILL);  // one that is stopped would stay
  EXPECT_NE(job.wait(seconds(20)), -1);
}

TEST_F(MpiRanks, ThatAreKilledAreNamedByTheOthersWithinASecond) {
  for (std::uint64_t attempt = 0; attempt < (full_grid() ? 50 : 5); ++attempt) {
    strike(SIGKILL, milliseconds(1000), attempt);
  }
}

TEST_F(MpiRanks, ThatAreStoppedAreNamedByTheOthersWithinThreeSeconds) {
  for (std::uint64_t attempt = 0; attempt < (full_grid() ? 50 : 5); ++attempt) {
    strike(SIGSTOP, milliseconds(3000), attempt);
  }
}

TEST_F(MpiRanks, ThatHaveEndedNoticeTheLossOfOneThatIsNoNeighbour) {
  constexpr int kRanks = 6, kVictim = 3;
  MpiJob job(kRanks, {"multiple", "late", std::to_string(kVictim)});
  ASSERT_TRUE(wait_until(seconds(30), [&] { return job.is_at_work(kVictim); })) << job.output();
  std::this_thread::sleep_for(milliseconds(500));
  job.send(kVictim, SIGKILL);
  if (MpiJob::launcher_kills_survivors()) {
    EXPECT_NE(job.wait(seconds(5)), -1);
    return;
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == kVictim) continue;
    EXPECT_TRUE(wait_until(seconds(5), [&] { return job.has_left(rank); })) << rank;
    EXPECT_THAT(job.last_words(rank),
                AllOf(HasSubstr("rank 3 is lost"), HasSubstr("the end of the run")));
  }
  EXPECT_NE(job.wait(seconds(20)), -1);
}

/// Kills one of two ranks of the product in the middle of its work.
void expect_end_of(const std::vector<std::string>& words) {
  MpiJob job(2, MpiJob::Troika{words});
  ASSERT_TRUE(wait_until(seconds(30), [&] { return job.troika_ranks().size() == 2; }));
  std::this_thread::sleep_for(milliseconds(1500));
  std::vector<pid_t> ranks = job.troika_ranks();
  ASSERT_EQ(ranks.size(), 2U) << job.output();
  kill(ranks.back(), SIGKILL);
  int code = job.wait(seconds(15));
  EXPECT_NE(code, -1) << "it hangs\n" << job.output();
  EXPECT_NE(code, 0);
  if (!MpiJob::launcher_kills_survivors()) {
    EXPECT_THAT(job.output(), AllOf(HasSubstr("is lost"), HasSubstr("a timing of ")));
    EXPECT_THAT(job.log(0) + job.log(1),
                AllOf(HasSubstr("is lost"), HasSubstr("a timing of "), HasSubstr("exit code 5")));
  }
  for (pid_t rank : job.troika_ranks()) kill(rank, SIGKILL);
}

TEST_F(MpiRanks, ThatTimeCollectivesEndWhenOneIsKilled) {
  expect_end_of({"bench", "comm", "--transport", "mpi", "--bytes", "1MiB", "--repeats", "1000000"});
  expect_end_of({"profile", "--links", "--out", "links.json", "--seconds", "600"});
}

/// Some at a time: mpirun takes more than a second to end a job that failed. A second from the odd
/// call to the last words, and half of one because that many jobs share few cores.
TEST_F(MpiRanks, ThatMakeDifferentCallsAllSaySoAndInWhat) {
  constexpr int kAtATime = 4;
  constexpr milliseconds kLimit(1500);
  for (int first = 0; first < kDifferences; first += kAtATime) {
    std::vector<std::unique_ptr<MpiJob>> jobs;
    for (int kind = first; kind < std::min(first + kAtATime, kDifferences); ++kind) {
      jobs.push_back(std::make_unique<MpiJob>(
          2 + kind % 2, std::vector<std::string>{"multiple", "calls", std::to_string(kind)}));
    }
    for (std::size_t at = 0; at < jobs.size(); ++at) {
      int kind = first + static_cast<int>(at), ranks = 2 + kind % 2;
      auto which = static_cast<std::size_t>(kind);
      // Messages of another rule, and of types that are summed in f32, have the same length: the
      // ranks run on until the next frame, which has the last call and a mark further back.
      bool runs_on = kind >= 6 && kind <= 11;
      testing::Matcher<std::string> says_what = HasSubstr(std::string("calls ") + kOddCalls[which]);
      if (runs_on)
        says_what = AnyOf(says_what, HasSubstr("but a call before it was different"),
                          HasSubstr("disagree in the calls of group 'world' before number"));
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_TRUE(wait_until(seconds(30), [&] { return jobs[at]->has_left(rank); })) << kind;
        EXPECT_THAT(jobs[at]->last_words(rank),
                    AllOf(HasSubstr("disagree"), HasSubstr("group 'world'"), says_what))
            << "difference " << kind << ", rank " << rank << "\n"
            << jobs[at]->output();
        EXPECT_LE(jobs[at]->time_to_leave(ranks - 1, rank), kLimit) << "difference " << kind;
      }
      EXPECT_NE(jobs[at]->wait(seconds(20)), -1) << "difference " << kind << "\n"
                                                 << jobs[at]->output();
    }
  }
}

}  // namespace
}  // namespace troika
