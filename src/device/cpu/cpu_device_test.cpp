#include "device/cpu/cpu_device.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <latch>
#include <set>
#include <thread>
#include <vector>

#include "base/cores.h"
#include "base/error.h"
#include "device/cpu/instruction_set.h"
#include "device/cpu/team_placement.h"

namespace troika {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr bool kTeamsLookLikeRaces = true;
#else
constexpr bool kTeamsLookLikeRaces = false;
#endif

/// A function as work, with the event that tells when it is done.
class Piece final : public Work {
 public:
  Piece(Device& device, std::function<void()> function) : function_(std::move(function)) {
    device.submit(*this, done_);
  }
  void run() override { function_(); }
  void wait() { done_.wait(); }

 private:
  std::function<void()> function_;
  Event done_;
};

TEST(CpuDevice, RunsWorkInTheOrderItCame) {
  auto device = make_cpu_device({.threads = 1});
  std::vector<int> order;
  std::deque<Piece> pieces;
  for (int i = 0; i < 200; ++i) pieces.emplace_back(*device, [&order, i] { order.push_back(i); });
  for (Piece& piece : pieces) piece.wait();
  EXPECT_EQ(order.size(), 200u);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST(CpuDevice, RunsOnTheCoresItIsGiven) {
  const std::vector<int> usable = usable_cores();
  ASSERT_FALSE(usable.empty());
  if (omp_get_proc_bind() != omp_proc_bind_false) GTEST_SKIP() << "OMP_PROC_BIND places threads";
  auto device = make_cpu_device({.threads = 1, .cores = {usable.back()}});
  cpu_set_t set;
  Piece(*device, [&] { sched_getaffinity(0, sizeof set, &set); }).wait();
  EXPECT_EQ(CPU_COUNT(&set), 1);
  EXPECT_TRUE(CPU_ISSET(usable.back(), &set));
}

TEST(CpuDevice, WaitRethrowsAndLaterWorkStillRuns) {
  auto device = make_cpu_device({.threads = 1});
  Piece failed(*device, [] { throw Error(ErrorKind::numeric, "the loss is not finite"); });
  bool ran = false;
  Piece(*device, [&] { ran = true; }).wait();
  EXPECT_THROW(failed.wait(), Error);
  EXPECT_TRUE(ran);
}

TEST(CpuDevice, FinishesQueuedWorkBeforeItGoes) {
  int done = 0;
  std::deque<Piece> pieces;
  {
    auto device = make_cpu_device({.threads = 1});
    for (int i = 0; i < 20; ++i) pieces.emplace_back(*device, [&] { ++done; });
  }
  EXPECT_EQ(done, 20);
}

TEST(CpuDevice, HasATeamOfItsOwnSize) {
  if (kTeamsLookLikeRaces) GTEST_SKIP() << "the system's OpenMP runtime is not instrumented";
  for (int threads : {1, 3}) {
    auto device = make_cpu_device({.threads = threads});
    int seen = 0;
    Piece(*device, [&] {
#pragma omp parallel
#pragma omp single
      seen = omp_get_num_threads();
    }).wait();
    EXPECT_EQ(seen, threads);
  }
}

TEST(CpuDevice, TeamsOfTwoDevicesAreDisjoint) {
  if (kTeamsLookLikeRaces) GTEST_SKIP() << "the system's OpenMP runtime is not instrumented";
  auto a = make_cpu_device({.threads = 2}), b = make_cpu_device({.threads = 2});
  std::latch both(2);
  auto gather = [&both](std::vector<std::thread::id>& ids) {
    return [&both, &ids] {
      both.arrive_and_wait();
      ids.resize(2);
#pragma omp parallel
      ids[static_cast<std::size_t>(omp_get_thread_num())] = std::this_thread::get_id();
    };
  };
  std::vector<std::thread::id> of_a, of_b;
  Piece on_a(*a, gather(of_a)), on_b(*b, gather(of_b));
  on_a.wait();
  on_b.wait();
  std::set<std::thread::id> all(of_a.begin(), of_a.end());
  all.insert(of_b.begin(), of_b.end());
  EXPECT_EQ(all.size(), 4u);
}

std::set<int> cores_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::set<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.insert(core);
  return cores;
}

/// The cores that each thread of a device's team may use.
std::vector<std::set<int>> cores_of_team(Device& device) {
  std::vector<std::set<int>> cores(static_cast<std::size_t>(device.threads()));
  Piece(device, [&] {
#pragma omp parallel
    cores[static_cast<std::size_t>(omp_get_thread_num())] = cores_of_this_thread();
  }).wait();
  return cores;
}

std::vector<std::set<int>> cores_of_team(int threads) {
  return cores_of_team(*make_cpu_device({.threads = threads}));
}

TEST(CpuDevice, ThreadsOfATeamShareNoCores) {
  if (kTeamsLookLikeRaces) GTEST_SKIP() << "the system's OpenMP runtime is not instrumented";
  const std::set<int> all = cores_of_this_thread();
  for (int threads = 2; threads <= static_cast<int>(all.size()); ++threads) {
    std::set<int> taken;
    for (const std::set<int>& cores : cores_of_team(threads)) {
      EXPECT_GE(cores.size(), all.size() / static_cast<std::size_t>(threads));
      for (int core : cores) EXPECT_TRUE(taken.insert(core).second) << core;
    }
    EXPECT_EQ(taken, all) << threads << " threads";
  }
}

TEST(CpuDevice, ThreadsThatASmallerTeamEndedAreReplacedOnCoresOfTheirOwn) {
  if (kTeamsLookLikeRaces) GTEST_SKIP() << "the system's OpenMP runtime is not instrumented";
  const auto threads = static_cast<int>(cores_of_this_thread().size());
  if (threads < 3) GTEST_SKIP() << "needs three cores";
  auto device = make_cpu_device({.threads = threads});
  std::vector<std::set<int>> cores(static_cast<std::size_t>(threads));
  Piece(*device, [&] {
#pragma omp parallel num_threads(2)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the others end meanwhile
    TeamPlacement::renew();
#pragma omp parallel
    cores[static_cast<std::size_t>(omp_get_thread_num())] = cores_of_this_thread();
  }).wait();
  for (const std::set<int>& own : cores) EXPECT_EQ(own.size(), 1u);
  EXPECT_NE(cores.front(), cores.back());
}

TEST(CpuDevice, ATeamLargerThanTheMachineMayUseAllCores) {
  if (kTeamsLookLikeRaces) GTEST_SKIP() << "the system's OpenMP runtime is not instrumented";
  const std::set<int> all = cores_of_this_thread();
  for (const std::set<int>& cores : cores_of_team(static_cast<int>(all.size()) + 1))
    EXPECT_EQ(cores, all);
}

TEST(CpuDevice, GivesZeroedAlignedMemoryAndCountsIt) {
  auto device = make_cpu_device({.threads = 1});
  for (std::int64_t size : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{5} << 20}) {
    Buffer buffer = device->allocate({size});
    std::size_t alignment = size >= (2 << 20) ? std::size_t{2} << 20 : 64;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.address()) % alignment, 0u) << size;
    EXPECT_TRUE(std::all_of(buffer.address(), buffer.address() + size,
                            [](std::byte b) { return b == std::byte{0}; }));
    std::fill(buffer.address(), buffer.address() + size, std::byte{1});
    EXPECT_EQ(device->allocated().count, size);
  }
  EXPECT_EQ(device->allocated().count, 0);
  EXPECT_EQ(device->allocations(), 3);
}

TEST(CpuDevice, RefusesMoreThanItsLimitWithASentence) {
  auto device = make_cpu_device({.threads = 1, .memory = {1 << 20}});
  Buffer held = device->allocate({1 << 19});
  try {
    Buffer more = device->allocate({(1 << 19) + 1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::memory);
    EXPECT_NE(std::string(error.what()).find("limit of 1.0 MiB"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(device->allocated().count, 1 << 19);
  EXPECT_EQ(device->allocations(), 1);
}

TEST(CpuDevice, RefusesMoreThanTheSystemHas) {
  auto device = make_cpu_device({.threads = 1});
  EXPECT_THROW(static_cast<void>(device->allocate({std::int64_t{1} << 60})), Error);
  EXPECT_EQ(device->allocated().count, 0);
}

TEST(CpuDevice, ReadsBackWhatWasWritten) {
  auto device = make_cpu_device({.threads = 1});
  Buffer buffer = device->allocate({3});
  std::vector<std::byte> sent{std::byte{1}, std::byte{2}, std::byte{3}}, got(3);
  device->write(buffer.address(), sent);
  device->read(got, buffer.address());
  EXPECT_EQ(got, sent);
}

TEST(CpuDevice, KindSaysInstructionsThreadsAndLibrary) {
  std::string isa(instruction_set());
  EXPECT_EQ(make_cpu_device({.threads = 2, .library = "onednn 2.6.3"})->kind(),
            "cpu " + isa + " 2 threads onednn 2.6.3");
  EXPECT_EQ(make_cpu_device({.threads = 1})->kind(), "cpu " + isa + " 1 thread");
}

TEST(CpuDevice, RefusesNoThreads) { EXPECT_THROW(make_cpu_device({.threads = 0}), Error); }

}  // namespace
}  // namespace troika
