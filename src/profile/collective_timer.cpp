#include "profile/collective_timer.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "collective/algorithms.h"

namespace troika {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

constexpr Bytes kElement{4};
/// Long enough to see past the clock, and past who happens to run first.
constexpr double kBatch = 500e3;
constexpr int kMostRounds = 1000;
/// Of each call in each pass; one suffices for what takes long.
constexpr int kSamples = 3;
constexpr double kLong = 5e6;

/// Written once, so that pages are there and are not all the same one.
HostBlock touched(Bytes bytes) {
  HostBlock block(bytes);
  std::memset(block.address(), 0, static_cast<std::size_t>(bytes.count));
  return block;
}

}  // namespace

CollectiveTimer::CollectiveTimer(MoveProgress& progress, std::vector<DeviceId> devices,
                                 Bytes longest)
    : communicator_(progress, std::move(devices)),
      vector_(touched(longest)),
      input_(touched(longest)) {
  Recipe recipe = make_recipe(equal_parts(Collective::all_reduce, communicator_.size(), 1),
                              "recursive_doubling");
  agree_ = communicator_.prepare(recipe, {std::as_writable_bytes(std::span(&agreed_, 1)), {}},
                                 {.dtype = DType::f64, .rule = CombineRule::max});
}

double CollectiveTimer::agree(double mine) {
  agreed_ = mine;
  agree_->start();
  agree_->wait();
  return agreed_;
}

std::unique_ptr<Operation> CollectiveTimer::prepare(const TimedCall& timed) {
  auto bytes = static_cast<std::size_t>((kElement * timed.call.count).count);
  MemberBuffers buffers{.vector = {vector_.address(), bytes}};
  if (timed.call.kind == Collective::all_to_all) buffers.input = {input_.address(), bytes};
  return communicator_.prepare(make_recipe(timed.call, timed.algorithm), buffers);
}

double CollectiveTimer::time_batch(Operation& operation, int rounds) {
  agree(0);
  auto start = Clock::now();
  for (int round = 0; round < rounds; ++round) {
    operation.start();
    operation.wait();
  }
  return agree(Nanoseconds(Clock::now() - start).count() / rounds);
}

void CollectiveTimer::time_group(TimedGroup& group) {
  group.samples.resize(group.calls.size());
  std::vector<std::unique_ptr<Operation>> operations;
  std::vector<double> once;
  for (const TimedCall& timed : group.calls) {
    operations.push_back(prepare(timed));
    double cold = time_batch(*operations.back(), 1);  // touches its scratch
    once.push_back(std::min(cold, time_batch(*operations.back(), 1)));
  }
  for (int sample = 0; sample < kSamples; ++sample) {
    for (std::size_t at = 0; at < operations.size(); ++at) {
      if (sample > 0 && once[at] >= kLong) continue;
      int rounds = std::clamp(static_cast<int>(kBatch / (once[at] + 1)), 1, kMostRounds);
      group.samples[at].push_back(time_batch(*operations[at], rounds));
    }
  }
  agree(0);  // all are done with the operations before one drops them
}

void CollectiveTimer::time_all(std::vector<TimedGroup>& groups, const TimingPasses& passes) {
  auto start = Clock::now();
  for (int pass = 1; pass <= passes.most; ++pass) {
    for (TimedGroup& group : groups) time_group(group);
    double taken = agree(Nanoseconds(Clock::now() - start).count() / 1e9);
    if (pass >= passes.least && taken * (pass + 1) / pass > passes.seconds) break;
  }
}

}  // namespace troika
