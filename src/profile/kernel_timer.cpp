#include "profile/kernel_timer.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <span>

#include "base/error.h"

namespace troika {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::nanoseconds;

constexpr std::int64_t kAlignment = 64;
/// A candidate whose first launches take this much longer than the best one's cannot catch up.
constexpr double kHopeless = 1.5;
/// A shorter first launch is not reliable: it includes cold caches and waking the team.
constexpr Nanoseconds kTelling = std::chrono::milliseconds(50);
constexpr int kFewestRounds = 2, kMostRounds = 8;
/// Total time of a candidate's launches that is long compared to the noise of clock and scheduler.
constexpr Nanoseconds kLongEnough = std::chrono::milliseconds(4);

/// Runs all candidates of a key in turns, so that other load on the machine affects them equally.
/// Runs on the device's own thread, which owns the OpenMP team of the kernels.
class Contest final : public Work {
 public:
  struct Entrant {
    std::unique_ptr<Kernel> kernel;
    Nanoseconds best = Nanoseconds::max(), total{};
    bool in = true;
  };

  Contest(std::vector<DevicePointer> operands, std::vector<Entrant> all,
          std::vector<std::int64_t> position)
      : entrants(std::move(all)), operands_(std::move(operands)), position_(std::move(position)) {}

  void run() override {
    // The first launches warm the caches and the team, and find candidates not worth more time.
    for (Entrant& entrant : entrants) launch(entrant);
    for (Entrant& entrant : entrants)
      if (entrant.total < kTelling) launch(entrant);
    Nanoseconds best = Nanoseconds::max();
    for (const Entrant& entrant : entrants) best = std::min(best, entrant.best);
    for (Entrant& entrant : entrants)
      entrant.in = static_cast<double>(entrant.best.count()) <=
                   kHopeless * static_cast<double>(best.count());
    for (int round = 0; round < kMostRounds; ++round) {
      for (Entrant& entrant : entrants) {
        entrant.in = entrant.in && (round < kFewestRounds || entrant.total < kLongEnough);
        if (entrant.in) launch(entrant);
      }
    }
  }

  std::vector<Entrant> entrants;

 private:
  void launch(Entrant& entrant) {
    auto start = Clock::now();
    entrant.kernel->launch({operands_.data(), operands_.size() - 1}, operands_.back(), position_);
    Nanoseconds time = Clock::now() - start;
    entrant.best = std::min(entrant.best, time);
    entrant.total += time;
  }

  std::vector<DevicePointer> operands_;  // the last one is the scratch
  std::vector<std::int64_t> position_;   // any: it does not change the time
};

Bytes aligned(Bytes bytes) { return {(bytes.count + kAlignment - 1) / kAlignment * kAlignment}; }

/// The largest size of each operand, and of the scratch, over all candidates.
std::vector<Bytes> sizes_of(const std::vector<Operand>& operands,
                            const std::vector<Candidate>& candidates) {
  std::vector<Bytes> sizes(operands.size() + 1);
  for (const Candidate& candidate : candidates) {
    for (std::size_t at = 0; at < operands.size(); ++at) {
      const TensorSpec& spec = operands[at].spec;
      sizes[at] =
          std::max(sizes[at], aligned(stored_bytes(candidate.layouts[at], spec.shape, spec.dtype)));
    }
    sizes.back() = std::max(sizes.back(), aligned(candidate.scratch));
  }
  return sizes;
}

/// Random numbers from 0.25 to 0.75: some kernels take longer without a pattern, and denormal
/// numbers would be slow. Indices are zero, which is valid for every table.
std::vector<std::byte> made_up_values(DType dtype) {
  std::vector<std::byte> bytes(1 << 20);
  if (dtype == DType::i32) return bytes;
  dispatch(dtype, [&]<class T>() {
    std::uint32_t state = 1;
    for (T& value : std::span{reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)}) {
      state = state * 1664525u + 1013904223u;
      value = static_cast<T>(0.25 + static_cast<double>(state >> 8) / (1 << 25));
    }
  });
  return bytes;
}

}  // namespace

Bytes memory_to_measure(const KernelKey& key, const Candidate& candidate) {
  Bytes total{};
  for (Bytes size : sizes_of(operands_of(key), {candidate})) total += size;
  return total;
}

std::vector<DevicePointer> KernelTimer::lay_out(const KernelKey& key,
                                                const std::vector<Candidate>& candidates) {
  std::vector<Operand> operands = operands_of(key);
  std::vector<Bytes> sizes = sizes_of(operands, candidates);
  Bytes total{};
  for (Bytes size : sizes) total += size;
  if (memory_.bytes() < total) {
    // Freed first, so that the device need not hold both.
    memory_ = {};
    memory_ = device_.allocate(total);
    fill(memory_.address(), total, DType::f32);  // no launch pays for fresh pages
  }
  std::vector<DevicePointer> addresses;
  DevicePointer next = memory_.address();
  for (std::size_t at = 0; at < sizes.size(); ++at) {
    addresses.push_back(next);
    if (at < operands.size()) fill(next, sizes[at], operands[at].spec.dtype);
    next += sizes[at].count;
  }
  return addresses;
}

void KernelTimer::fill(DevicePointer at, Bytes bytes, DType dtype) {
  auto [known, is_new] = values_.try_emplace(dtype);
  if (is_new) known->second = made_up_values(dtype);
  const std::vector<std::byte>& values = known->second;
  for (std::int64_t done = 0; done < bytes.count; done += std::ssize(values)) {
    std::size_t length = std::min(values.size(), static_cast<std::size_t>(bytes.count - done));
    device_.write(at + done, {values.data(), length});
  }
}

void KernelTimer::measure(const KernelKey& key, std::vector<Candidate>& candidates) {
  if (candidates.empty()) return;
  std::vector<Contest::Entrant> entrants;
  for (const Candidate& candidate : candidates)
    entrants.push_back({.kernel = backend_.compile(key, candidate)});
  Contest contest(lay_out(key, candidates), std::move(entrants), origin_of(key));
  Event done;
  device_.submit(contest, done);
  done.wait();
  for (std::size_t at = 0; at < candidates.size(); ++at)
    candidates[at].time = SimTime{contest.entrants[at].best.count()};
}

}  // namespace troika
