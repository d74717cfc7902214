#include "profile/kernel_timer.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"

namespace troika {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::nanoseconds;

constexpr std::int64_t kAlignment = 64;
/// A candidate whose first launch takes this much longer than the best so far cannot catch up: a
/// first launch pays for cold caches and untouched pages, about half of its time at worst.
constexpr double kHopeless = 2.0;
constexpr int kMostLaunches = 8;
/// Enough to see past the clock and the scheduler.
constexpr Nanoseconds kLongEnough = std::chrono::milliseconds(4);

/// Runs on the device's own thread: there the team of the kernel is.
class Trial final : public Work {
 public:
  Trial(std::unique_ptr<Kernel> kernel, std::vector<DevicePointer> operands, double to_beat)
      : kernel_(std::move(kernel)), operands_(std::move(operands)), to_beat_(to_beat) {}

  void run() override {
    best = launch();
    if (static_cast<double>(best.count()) > kHopeless * to_beat_) return;
    Nanoseconds total{};
    for (int count = 0; count < kMostLaunches && (count < 2 || total < kLongEnough); ++count) {
      Nanoseconds time = launch();
      best = std::min(best, time);
      total += time;
    }
  }

  Nanoseconds best{};

 private:
  Nanoseconds launch() {
    auto start = Clock::now();
    kernel_->launch({operands_.data(), operands_.size() - 1}, operands_.back());
    return Clock::now() - start;
  }

  std::unique_ptr<Kernel> kernel_;
  std::vector<DevicePointer> operands_;  // the last one is the scratch
  double to_beat_;
};

Bytes aligned(Bytes bytes) { return {(bytes.count + kAlignment - 1) / kAlignment * kAlignment}; }

std::vector<Bytes> sizes_of(const std::vector<Operand>& operands, const Candidate& candidate) {
  std::vector<Bytes> sizes;
  for (const Operand& operand : operands)
    sizes.push_back(aligned(
        stored_bytes(candidate.layouts[sizes.size()], operand.spec.shape, operand.spec.dtype)));
  sizes.push_back(aligned(candidate.scratch));
  return sizes;
}

}  // namespace

void KernelTimer::grow(Bytes bytes) {
  if (memory_.bytes() >= bytes) return;
  memory_ = {};
  memory_ = device_.allocate(bytes);
}

std::vector<DevicePointer> KernelTimer::place(const KernelKey& key, const Candidate& candidate) {
  std::vector<Operand> operands = operands_of(key);
  std::vector<Bytes> sizes = sizes_of(operands, candidate);
  Bytes total{};
  for (Bytes size : sizes) total += size;
  grow(total);
  std::vector<DevicePointer> addresses;
  DevicePointer next = memory_.address();
  for (std::size_t at = 0; at < sizes.size(); ++at) {
    addresses.push_back(next);
    next += sizes[at].count;
    // Indices must be such; what earlier trials left of floating-point numbers is harmless.
    if (at < operands.size() && operands[at].spec.dtype == DType::i32)
      device_.write(addresses[at],
                    std::vector<std::byte>(static_cast<std::size_t>(sizes[at].count)));
  }
  return addresses;
}

void KernelTimer::measure(const KernelKey& key, std::vector<Candidate>& candidates) {
  double best = std::numeric_limits<double>::infinity();
  for (Candidate& candidate : candidates) {
    Trial trial(backend_.compile(key, candidate), place(key, candidate), best);
    Event done;
    device_.submit(trial, done);
    done.wait();
    candidate.time = SimTime{trial.best.count()};
    best = std::min(best, static_cast<double>(trial.best.count()));
  }
}

}  // namespace troika
