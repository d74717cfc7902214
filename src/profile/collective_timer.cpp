#include "profile/collective_timer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "collective/algorithms.h"

namespace troika {
namespace {

using Clock = std::chrono::steady_clock;
using RealNanoseconds = std::chrono::duration<double, std::nano>;

/// Nanoseconds of a batch: long compared to the clock's resolution and to the skew between members.
constexpr double kBatch = 500e3;
constexpr int kMostTimings = 1000;
/// Vectors that just fit into the caches settle there only after some rounds; data that other
/// algorithms left in the caches must not affect the times.
constexpr int kSettlingRounds = 3, kFewestTimings = 4;
/// Nanoseconds. Calls that take this long profit little from warm caches, and one sample of them
/// per pass suffices.
constexpr double kLong = 5e6;

/// Written once, so that its pages are mapped and distinct.
HostBlock touched(Bytes bytes) {
  HostBlock block(bytes);
  if (bytes.count > 0) std::memset(block.address(), 0, static_cast<std::size_t>(bytes.count));
  return block;
}

}  // namespace

// A median, because other programs make some samples longer, and none shorter.
std::vector<double> medians(const TimedGroup& group) {
  std::vector<double> result;
  for (std::vector<double> samples : group.samples) {
    TROIKA_CHECK(!samples.empty(), "a collective was not timed");
    auto middle = samples.begin() + std::ssize(samples) / 2;
    std::ranges::nth_element(samples, middle);
    result.push_back(*middle);
  }
  return result;
}

std::vector<double> noise_of_medians(const TimedGroup& group) {
  std::vector<double> result;
  for (std::vector<double> samples : group.samples) {
    TROIKA_CHECK(!samples.empty(), "a collective was not timed");
    std::ranges::sort(samples);
    // The rank of the middle is binomial: n/2 with a deviation of sqrt(n)/2.
    // 95 % of a normal distribution lie within 1.96 deviations, here 0.98 sqrt(n) ranks.
    auto count = static_cast<double>(samples.size());
    auto first = static_cast<std::size_t>(std::max(0.0, count / 2 - 0.98 * std::sqrt(count)));
    result.push_back((samples[samples.size() - 1 - first] - samples[first]) / 2);
  }
  return result;
}

CollectiveTimer::CollectiveTimer(MoveScheduler& scheduler, std::vector<DeviceId> devices,
                                 Bytes longest)
    : communicator_(scheduler, std::move(devices)),
      vector_(touched(longest)),
      input_(touched(longest)) {
  // The members' own agreement is a small all-reduce of the greatest value, prepared once.
  MemberRecipe recipe =
      make_member_recipe(equal_parts(Collective::all_reduce, communicator_.size(), 1),
                         "recursive_doubling", communicator_.member());
  agree_ = communicator_.prepare(recipe, {std::as_writable_bytes(std::span(&agreed_, 1)), {}},
                                 {.dtype = DType::f64, .rule = CombineRule::max});
}

void CollectiveTimer::add_maker(std::string algorithm, Maker make) {
  makers_[std::move(algorithm)] = std::move(make);
}

void CollectiveTimer::set_watch(Heartbeat& heartbeat) {
  std::vector<int> ranks(static_cast<std::size_t>(communicator_.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  heartbeat_ = &heartbeat;
  group_ = heartbeat.watch({kWorldGroup, ranks});
}

double CollectiveTimer::agree(double mine) {
  agreed_ = mine;
  communicator_.scheduler().start(*agree_);
  communicator_.scheduler().wait(*agree_);
  return agreed_;
}

CollectiveTimer::Body CollectiveTimer::prepare(const TimedCall& timed) {
  auto bytes = static_cast<std::size_t>((kTimedElement * timed.call.count).count);
  MemberBuffers buffers{.vector = {vector_.address(), bytes}};
  if (auto found = makers_.find(timed.algorithm); found != makers_.end())
    return found->second(timed.call, buffers.vector);
  if (timed.call.kind == Collective::all_to_all) buffers.input = {input_.address(), bytes};
  // Shared, because a function is copied.
  std::shared_ptr<Operation> operation = communicator_.prepare(
      make_member_recipe(timed.call, timed.algorithm, communicator_.member()), buffers, {});
  return [operation, &scheduler = communicator_.scheduler()](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      scheduler.start(*operation);
      scheduler.wait(*operation);
    }
  };
}

CollectiveTimer::Batch CollectiveTimer::prepare_batch(const TimedCall& timed) {
  Batch batch{.run = prepare(timed)};
  if (heartbeat_ == nullptr) return batch;
  std::string text = "a timing of " + describe_call(timed.call, timed.algorithm, {});
  auto [known, is_new] = calls_.try_emplace(text);
  if (is_new) known->second = heartbeat_->describe(group_, text);
  batch.call = known->second;
  return batch;
}

/// Called once for all rounds, so that the watch takes no part in the time of one.
void CollectiveTimer::run(const Batch& batch, int rounds) {
  if (heartbeat_ != nullptr) heartbeat_->begin(batch.call);
  batch.run(rounds);
  if (heartbeat_ != nullptr) heartbeat_->end(batch.call);
}

// All members start together, and the slowest one counts.
double CollectiveTimer::time(const Batch& batch, int rounds) {
  if (heartbeat_ != nullptr) heartbeat_->begin(batch.call);
  agree(0);
  auto start = Clock::now();
  batch.run(rounds);
  double taken = agree(RealNanoseconds(Clock::now() - start).count() / rounds);
  if (heartbeat_ != nullptr) heartbeat_->end(batch.call);
  return taken;
}

void CollectiveTimer::time_group(TimedGroup& group, int samples) {
  group.samples.resize(group.calls.size());
  std::vector<Batch> batches;
  std::vector<double> once;
  for (const TimedCall& timed : group.calls) {
    batches.push_back(prepare_batch(timed));
    double cold = time(batches.back(), 1);  // touches its scratch
    // An estimate of one round, from which the length of a batch follows.
    once.push_back(std::min(cold, time(batches.back(), 1)));
  }
  for (int sample = 0; sample < samples; ++sample) {
    for (std::size_t at = 0; at < batches.size(); ++at) {
      if (sample > 0 && once[at] >= kLong) continue;
      bool is_short = once[at] < kLong;
      if (is_short) run(batches[at], kSettlingRounds);
      int rounds = std::clamp(static_cast<int>(kBatch / (once[at] + 1)),
                              is_short ? kFewestTimings : 1, kMostTimings);
      group.samples[at].push_back(time(batches[at], rounds));
    }
  }
  agree(0);  // all are done with the operations before one drops them
}

void CollectiveTimer::time_all(std::vector<TimedGroup>& groups, const TimingPasses& passes) {
  agree(0);  // all have made their timers
  auto start = Clock::now();
  for (int pass = 1; pass <= passes.most; ++pass) {
    for (TimedGroup& group : groups) time_group(group, passes.samples);
    // Agreed, because all members must stop after the same pass. It ends when one more pass of
    // average length would exceed the limit.
    double taken = agree(RealNanoseconds(Clock::now() - start).count() / 1e9);
    if (pass >= passes.least && taken * (pass + 1) / pass > passes.seconds) break;
  }
}

}  // namespace troika
