#include "profile/measured_costs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "kernels/reference/reference.h"

namespace troika {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string read_text(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Two kernels for every key, the reference both: one sleeps, one does not.
class TwoSpeeds final : public Backend {
 public:
  class Sleeper final : public Kernel {
   public:
    Sleeper(const TwoSpeeds& owner, std::unique_ptr<Kernel> kernel, bool sleeps)
        : owner_(owner), kernel_(std::move(kernel)), sleeps_(sleeps) {}
    void launch(std::span<const DevicePointer> operands, DevicePointer scratch,
                std::span<const std::int64_t> position) override {
      kernel_->launch(operands, scratch, position);
      owner_.slow_launches += sleeps_;
      if (sleeps_) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }

   private:
    const TwoSpeeds& owner_;
    std::unique_ptr<Kernel> kernel_;
    bool sleeps_;
  };

  std::string name() const override { return "two speeds"; }
  std::vector<Candidate> candidates(const KernelKey& key) const override {
    std::vector<Layout> layouts(operands_of(key).size(), Layout::plain);
    return {{.algorithm = "slow", .layouts = layouts}, {.algorithm = "fast", .layouts = layouts}};
  }
  std::unique_ptr<Kernel> compile(const KernelKey& key, const Candidate& candidate) const override {
    return std::make_unique<Sleeper>(*this, reference_->compile(key, candidate),
                                     candidate.algorithm == "slow");
  }

  mutable std::atomic<int> slow_launches = 0;

 private:
  std::unique_ptr<Backend> reference_ = make_reference_backend();
};

class MeasuredCostsTest : public testing::Test {
 protected:
  MeasuredCostsTest()
      : folder_(fs::temp_directory_path() / ("troika-costs-" + std::to_string(getpid()))) {}
  ~MeasuredCostsTest() override { fs::remove_all(folder_); }

  MeasuredCosts open(KernelTable given = {}, const std::string& made_by = "this build") {
    return {*device_, backend_, {folder_, made_by, std::move(given)}};
  }
  /// As on a computer with these devices.
  MeasuredCosts open_beside(Occupancy occupancy, KernelTable given = {}) {
    return {*device_,
            backend_,
            {.folder = folder_,
             .made_by = "this build",
             .given = std::move(given),
             .memory = Bytes{32 << 20},
             .occupancy = occupancy,
             .make_neighbour = [this](int) {
               ++neighbours_;
               return make_cpu_device({.threads = 1, .library = "none"});
             }}};
  }
  /// What a run leaves in the folder.
  fs::path fill() {
    MeasuredCosts costs = open();
    costs.answer(key_);
    costs.finish();
    return costs.file();
  }

  fs::path folder_;
  std::unique_ptr<Device> device_ = make_cpu_device({.threads = 1, .library = "none"});
  TwoSpeeds backend_;
  int neighbours_ = 0;
  KernelKey key_{Linear{.out = 2}, {{{4, 3}, DType::f32}}, Phase::forward, {}};
};

TEST_F(MeasuredCostsTest, TheFasterKernelHasTheShorterTime) {
  std::vector<Candidate> candidates = open().answer(key_);
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_GE(candidates[0].time->count, 2'000'000);
  EXPECT_LT(candidates[1].time->count, 1'000'000);
}

TEST_F(MeasuredCostsTest, AKernelFarBehindIsLaunchedTwice) {
  class FastFirst final : public Backend {
   public:
    explicit FastFirst(const TwoSpeeds& two) : two_(two) {}
    std::string name() const override { return "fast first"; }
    std::vector<Candidate> candidates(const KernelKey& key) const override {
      std::vector<Candidate> list = two_.candidates(key);
      std::swap(list[0], list[1]);
      return list;
    }
    std::unique_ptr<Kernel> compile(const KernelKey& key, const Candidate& chosen) const override {
      return two_.compile(key, chosen);
    }

   private:
    const TwoSpeeds& two_;
  } backend(backend_);
  KernelTimer timer(*device_, backend);
  std::vector<Candidate> candidates = backend.candidates(key_);
  timer.measure(key_, candidates);
  EXPECT_EQ(backend_.slow_launches, 2);
}

TEST_F(MeasuredCostsTest, SayHowTimesWereMeasured) {
  std::vector<Candidate> candidates = open().answer(key_);
  ASSERT_TRUE(candidates[0].timing && candidates[1].timing);
  EXPECT_EQ(candidates[0].timing->repeats, 1);  // far behind, so it is not launched again
  EXPECT_EQ(candidates[0].timing->spread, SimTime{});
  EXPECT_EQ(candidates[1].timing->repeats, kMostLaunches - 1);
  EXPECT_EQ(candidates[1].timing->date.size(), std::string("2026-01-31T12:00:00Z").size());
  EXPECT_EQ(candidates[1].timing->at, (Occupancy{1, 1}));
}

TEST_F(MeasuredCostsTest, AllDevicesThatComputeAtOnceLaunchEachKernel) {
  KernelTimer alone(*device_, backend_);
  std::vector<Candidate> candidates{backend_.candidates(key_)[0]};  // the one that counts
  alone.measure(key_, candidates);
  int launches = backend_.slow_launches;
  KernelTimer beside(*device_, backend_,
                     {.neighbours = 2, .make_neighbour = [](int) {
                        return make_cpu_device({.threads = 1, .library = "none"});
                      }});
  backend_.slow_launches = 0;
  beside.measure(key_, candidates);
  EXPECT_EQ(backend_.slow_launches % 3, 0);
  EXPECT_GE(backend_.slow_launches, 3 * 3);
  EXPECT_LE(launches, kMostLaunches);
  EXPECT_EQ(candidates[0].timing->at, (Occupancy{3, 3}));
}

/// Kernels that note where they were launched.
class Noting final : public Backend {
 public:
  class Noter final : public Kernel {
   public:
    explicit Noter(std::vector<std::vector<DevicePointer>>& launches) : launches_(launches) {}
    void launch(std::span<const DevicePointer> operands, DevicePointer,
                std::span<const std::int64_t>) override {
      launches_.emplace_back(operands.begin(), operands.end());
    }

   private:
    std::vector<std::vector<DevicePointer>>& launches_;
  };
  std::string name() const override { return "noting"; }
  std::vector<Candidate> candidates(const KernelKey& key) const override {
    auto operands = operands_of(key).size();
    return {{.algorithm = "a",
             .layouts = std::vector<Layout>(operands, Layout::plain),
             .in_place = {{static_cast<int>(operands) - 1, 0}}}};
  }
  std::unique_ptr<Kernel> compile(const KernelKey&, const Candidate&) const override {
    return std::make_unique<Noter>(launches);
  }

  mutable std::vector<std::vector<DevicePointer>> launches;
};

TEST_F(MeasuredCostsTest, OnlyWhatTheTaskBeforeWroteIsTheSameInEachLaunch) {
  for (Phase phase : {Phase::forward, Phase::backward_data}) {
    Noting backend;
    KernelKey key{Activation{}, {{{64}, DType::f32}}, phase, {}};
    std::vector<Candidate> candidates = backend.candidates(key);
    KernelTimer(*device_, backend).measure(key, candidates);
    ASSERT_EQ(backend.launches.size(), static_cast<std::size_t>(kMostLaunches));
    std::map<std::size_t, std::set<DevicePointer>> addresses;
    bool in_place = true;
    for (const std::vector<DevicePointer>& operands : backend.launches) {
      for (std::size_t at = 0; at < operands.size(); ++at) addresses[at].insert(operands[at]);
      in_place = in_place && operands.back() == operands.front();
    }
    EXPECT_EQ(addresses[0].size(), 1u);
    EXPECT_EQ(addresses[1].size(), backend.launches.size());
    EXPECT_EQ(in_place, phase == Phase::backward_data);
  }
}

TEST_F(MeasuredCostsTest, AFailureOfANeighbourEndsTheMeasurement) {
  class Failing final : public Backend {
   public:
    class Thrower final : public Kernel {
     public:
      explicit Thrower(bool fails) : fails_(fails) {}
      void launch(std::span<const DevicePointer>, DevicePointer,
                  std::span<const std::int64_t>) override {
        if (fails_) throw Error(ErrorKind::numeric, "it broke");
      }

     private:
      bool fails_;
    };
    std::string name() const override { return "failing"; }
    std::vector<Candidate> candidates(const KernelKey& key) const override {
      return {{.algorithm = "a", .layouts = {operands_of(key).size(), Layout::plain}}};
    }
    // Only the second kernel, that of the neighbour, fails.
    std::unique_ptr<Kernel> compile(const KernelKey&, const Candidate&) const override {
      return std::make_unique<Thrower>(++compiled_ == 2);
    }

   private:
    mutable int compiled_ = 0;
  } backend;
  KernelTimer timer(*device_, backend, {.neighbours = 1, .make_neighbour = [](int) {
                                          return make_cpu_device({.threads = 1, .library = "none"});
                                        }});
  std::vector<Candidate> candidates = backend.candidates(key_);
  EXPECT_THROW(timer.measure(key_, candidates), Error);
}

TEST_F(MeasuredCostsTest, RowsOfDifferentOccupanciesAreApart) {
  fill();
  MeasuredCosts two = open_beside({2, 2});
  two.answer(key_);
  EXPECT_EQ(two.measured(), 2);
  two.finish();
  EXPECT_EQ(neighbours_, 2);  // for rows, and for the memory rate
  for (Occupancy occupancy : {Occupancy{1, 1}, Occupancy{2, 2}, Occupancy{4, 2}}) {
    MeasuredCosts again = open_beside(occupancy);
    again.answer(key_);
    EXPECT_EQ(again.measured(), 0);
    EXPECT_EQ(again.checked(), 0);
  }
  MeasuredCosts again = open_beside({2, 2});
  ASSERT_EQ(again.memory_rates().size(), 2u);
  EXPECT_GT(again.memory_rates().at(1), 0);
  EXPECT_GT(again.memory_rates().at(2), 0);
}

TEST_F(MeasuredCostsTest, DevicesThatShareACoreTakeTurns) {
  MeasuredCosts two = open_beside({2, 2});
  SimTime own = *two.answer(key_)[0].time;
  two.finish();
  Candidate crowded = open_beside({6, 2}).answer(key_)[0];
  EXPECT_EQ(*crowded.time, own * 3);
  EXPECT_EQ(crowded.timing->at, (Occupancy{6, 2}));
}

TEST_F(MeasuredCostsTest, GivenTimesChangeWithTheOccupancy) {
  std::vector<Candidate> candidates = backend_.candidates(key_);
  for (Candidate& candidate : candidates) {
    candidate.time = SimTime{1000};
    candidate.timing = Timing{.repeats = 1};
  }
  KernelTable given;
  given.insert({device_->kind(), key_}, candidates);
  EXPECT_EQ(open_beside({1, 1}, given).answer(key_)[0].time, SimTime{1000});
  EXPECT_EQ(open_beside({2, 1}, given).answer(key_)[0].time, SimTime{2000});
}

TEST_F(MeasuredCostsTest, RowsOfAVersionThatDoesNotSayHowItMeasuredAreMeasuredAgain) {
  fs::path file = fill();
  KernelTable kept = *read_costs(file);
  std::vector<Candidate> bare = backend_.candidates(key_);
  for (Candidate& candidate : bare) candidate.time = SimTime{1};
  kept.insert({kept.kinds().begin()->first, key_}, bare);
  std::ofstream(file) << to_json(kept);
  MeasuredCosts costs = open();
  EXPECT_NE(costs.answer(key_)[0].time, SimTime{1});
  EXPECT_EQ(costs.measured(), 2);
  EXPECT_EQ(costs.checked(), 0);
  costs.finish();
  EXPECT_NE(open().answer(key_)[0].time, SimTime{1});
}

TEST_F(MeasuredCostsTest, ASecondStartMeasuresNothing) {
  fill();
  MeasuredCosts costs = open();
  costs.answer(key_);
  EXPECT_EQ(costs.measured(), 0);
}

TEST_F(MeasuredCostsTest, StepsThatStayInTheCacheHaveTimesOfTheirOwn) {
  fill();
  MeasuredCosts small = open();
  small.meet_step({1 << 20});
  small.answer(key_);
  EXPECT_EQ(small.measured(), 2) << "the others were timed with operands from memory";
  small.finish();
  MeasuredCosts again = open(), large = open();
  again.meet_step({1 << 19});
  large.meet_step({std::int64_t{1} << 40});
  again.answer(key_);
  large.answer(key_);
  EXPECT_EQ(again.measured() + large.measured(), 0);
}

TEST(TouchedInCache, IsRoundedUpAndSharedByTheDevices) {
  EXPECT_EQ(touched_in_cache({1}, 1), Bytes{1 << 20});
  EXPECT_EQ(touched_in_cache({(1 << 20) + 1}, 1), Bytes{3 << 19});
  EXPECT_EQ(touched_in_cache({(3 << 19) + 1}, 1), Bytes{2 << 20});
  EXPECT_EQ(touched_in_cache({std::int64_t{1} << 40}, 1), Bytes{}) << "no cache is as large";
  EXPECT_EQ(touched_in_cache({1}, 1 << 20), Bytes{}) << "too many devices share it";
}

TEST_F(MeasuredCostsTest, GivenCostsComeBeforeThoseThatAreKept) {
  fill();
  std::vector<Candidate> candidates = backend_.candidates(key_);
  candidates[0].time = SimTime{1}, candidates[1].time = SimTime{2};
  KernelTable given, of_another;
  given.insert({device_->kind(), key_}, candidates);
  EXPECT_EQ(open(given).answer(key_)[0].time, SimTime{1});
  of_another.insert({"another", key_}, candidates);
  EXPECT_NE(open(of_another).answer(key_)[0].time, SimTime{1});
}

TEST_F(MeasuredCostsTest, AnotherBuildMeasuresForItself) {
  fill();
  MeasuredCosts costs = open({}, "another build");
  costs.answer(key_);
  EXPECT_EQ(costs.measured(), 2);
}

TEST_F(MeasuredCostsTest, RowsThatAreKeptStay) {
  MeasuredCosts one = open(), two = open();
  SimTime first = *one.answer(key_)[0].time;
  two.answer(key_);
  one.finish();
  two.finish();
  EXPECT_EQ(open().answer(key_)[0].time, first);
}

TEST_F(MeasuredCostsTest, MeasuringAnewReplacesTheRowsThatAreKeptAndNoOthers) {
  fs::path file = fill();
  KernelKey other{Linear{.out = 5}, {{{4, 3}, DType::f32}}, Phase::forward, {}};
  KernelTable kept = *read_costs(file);
  std::string kind = kept.kinds().begin()->first;
  for (const KernelKey& key : {key_, other}) {
    std::vector<Candidate> old = backend_.candidates(key);
    for (Candidate& candidate : old) {
      candidate.time = SimTime{1};
      candidate.timing = Timing{.repeats = 1};
    }
    kept.insert({kind, key}, old);
  }
  std::ofstream(file) << to_json(kept);
  MeasuredCosts anew(*device_, backend_,
                     {.folder = folder_, .made_by = "this build", .measures_anew = true});
  EXPECT_NE(anew.answer(key_)[0].time, SimTime{1});
  anew.finish();
  EXPECT_NE(open().answer(key_)[0].time, SimTime{1});
  EXPECT_EQ(open().answer(other)[0].time, SimTime{1});
}

TEST_F(MeasuredCostsTest, FinishGivesTheMemoryBack) {
  MeasuredCosts costs = open();
  costs.answer(key_);
  EXPECT_GT(device_->allocated(), Bytes{});
  costs.finish();
  EXPECT_EQ(device_->allocated(), Bytes{});
}

TEST_F(MeasuredCostsTest, ASpoiltFileOrOneOfAnotherDeviceIsMeasuredAnew) {
  fs::path file = fill();
  for (const char* text : {"", "{", "{\"format\": \"troika costs 2\"}",
                           "{\"format\": \"troika costs 2\", \"device\": \"another\", "
                           "\"kernels\": {}}",
                           "{\"format\": \"troika costs 3\", \"devices\": {\"another\": "
                           "{\"kernels\": {}}}}"}) {
    std::ofstream(file) << text;
    MeasuredCosts costs = open();
    costs.answer(key_);
    EXPECT_EQ(costs.measured(), 2) << text;
  }
}

TEST_F(MeasuredCostsTest, AFolderThatCannotBeWrittenOnlyCostsTime) {
  std::ofstream(folder_) << "a file where a folder should be";
  MeasuredCosts costs = open();
  costs.answer(key_);
  EXPECT_NO_THROW(costs.finish());
}

TEST_F(MeasuredCostsTest, SayWhetherTheyWereKept) {
  MeasuredCosts costs = open();
  costs.answer(key_);
  costs.finish();
  EXPECT_EQ(costs.why_not_kept(), "");
  EXPECT_TRUE(fs::exists(costs.file()));
  MeasuredCosts nowhere(*device_, backend_, {});
  nowhere.answer(key_);
  nowhere.finish();
  EXPECT_THAT(nowhere.why_not_kept(), HasSubstr("no folder"));
}

TEST_F(MeasuredCostsTest, AFolderOfAnotherUserIsReadAndNotWritten) {
  constexpr uid_t kAnotherUser = 54321;
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder to another user";
  fill();
  ASSERT_EQ(chown(folder_.c_str(), kAnotherUser, kAnotherUser), 0);
  KernelKey other{Linear{.out = 5}, {{{4, 3}, DType::f32}}, Phase::forward, {}};
  MeasuredCosts costs = open();
  costs.answer(key_);
  EXPECT_EQ(costs.measured(), 0);
  costs.answer(other);
  std::string before = read_text(costs.file());
  costs.finish();
  EXPECT_THAT(costs.why_not_kept(), HasSubstr("belongs to another user (54321)"));
  EXPECT_EQ(read_text(costs.file()), before);
}

TEST_F(MeasuredCostsTest, ALockThatIsNeverReleasedHoldsUpTheStartForASecond) {
  fs::path file = fill();
  KernelKey other{Linear{.out = 5}, {{{4, 3}, DType::f32}}, Phase::forward, {}};
  MeasuredCosts costs = open();
  costs.answer(other);
  int lock = ::open((file.string() + ".lock").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  auto start = std::chrono::steady_clock::now();
  costs.finish();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1500));
  EXPECT_THAT(costs.why_not_kept(), HasSubstr(".lock"));
  close(lock);
  MeasuredCosts later = open();
  later.answer(other);
  later.finish();
  EXPECT_EQ(later.why_not_kept(), "");
}

TEST_F(MeasuredCostsTest, WhatDoesNotFitIntoTheDeviceIsNotMeasured) {
  MeasuredCosts costs(*device_, backend_, {.folder = folder_, .memory = {100}});
  std::vector<Candidate> candidates = costs.answer(key_);
  EXPECT_EQ(costs.measured(), 0);
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_FALSE(candidates[0].time);
}

TEST_F(MeasuredCostsTest, TwoProcessesKeepEachOthersRows) {
  MeasuredCosts one = open(), two = open();
  KernelKey other{Linear{.out = 5}, {{{4, 3}, DType::f32}}, Phase::forward, {}};
  one.answer(key_);
  two.answer(other);
  one.finish();
  two.finish();
  MeasuredCosts both = open();
  both.answer(key_);
  both.answer(other);
  EXPECT_EQ(both.measured(), 0);
}

}  // namespace
}  // namespace troika
