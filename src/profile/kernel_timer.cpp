#include "profile/kernel_timer.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <span>

#include "base/error.h"

namespace troika {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::nanoseconds;

constexpr std::int64_t kAlignment = 64;
/// A candidate whose first launch takes this much longer than the best so far cannot catch up: a
/// first launch pays for cold caches, less than half of its time.
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

/// For the largest candidate at once, and touched: none pays for fresh pages.
void KernelTimer::make_room(const KernelKey& key, const std::vector<Candidate>& candidates) {
  Bytes largest{};
  std::vector<Operand> operands = operands_of(key);
  for (const Candidate& candidate : candidates) {
    Bytes total{};
    for (Bytes size : sizes_of(operands, candidate)) total += size;
    largest = std::max(largest, total);
  }
  if (memory_.bytes() >= largest) return;
  memory_ = {};
  memory_ = device_.allocate(largest);
  fill(memory_.address(), largest, DType::f32);
}

std::vector<DevicePointer> KernelTimer::place(const KernelKey& key, const Candidate& candidate) {
  std::vector<Operand> operands = operands_of(key);
  std::vector<Bytes> sizes = sizes_of(operands, candidate);
  std::vector<DevicePointer> addresses;
  DevicePointer next = memory_.address();
  for (std::size_t at = 0; at < sizes.size(); ++at) {
    addresses.push_back(next);
    if (at < operands.size()) fill(next, sizes[at], operands[at].spec.dtype);
    next += sizes[at].count;
  }
  return addresses;
}

/// Halves are normal numbers whatever is computed from them (denormal ones would be slow); zeros
/// are indices that every table has.
void KernelTimer::fill(DevicePointer at, Bytes bytes, DType dtype) {
  constexpr std::size_t kChunk = 1 << 20;
  halves_.assign(kChunk, std::byte{0});
  if (dtype != DType::i32) {
    dispatch(dtype, [&]<class T>() {
      std::ranges::fill(std::span{reinterpret_cast<T*>(halves_.data()), kChunk / sizeof(T)},
                        T(0.5));
    });
  }
  for (std::int64_t done = 0; done < bytes.count; done += kChunk) {
    std::size_t length = std::min(kChunk, static_cast<std::size_t>(bytes.count - done));
    device_.write(at + done, {halves_.data(), length});
  }
}

void KernelTimer::measure(const KernelKey& key, std::vector<Candidate>& candidates) {
  double best = std::numeric_limits<double>::infinity();
  make_room(key, candidates);
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
