#include "profile/kernel_contest.h"

#include <algorithm>
#include <deque>
#include <thread>

namespace troika {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::nanoseconds;

/// A candidate whose first launches take this much longer than the best one's cannot catch up.
constexpr double kHopeless = 1.5;
/// A shorter first launch is not reliable: it includes waking the team.
constexpr Nanoseconds kTelling = std::chrono::milliseconds(50);
constexpr int kFewestRounds = 3, kMostRounds = kMostLaunches - 2;  // after up to two launches
/// Total time of a candidate's launches that is long compared to the noise of clock and scheduler.
constexpr Nanoseconds kLongEnough = std::chrono::milliseconds(4);

/// Lets the devices begin each launch at the same time. The waits are short, so they spin first.
class StartLine {
 public:
  explicit StartLine(std::size_t members) : members_(members) {}

  void wait() {
    std::int64_t round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    for (int polls = 0; round_.load(std::memory_order_acquire) == round; ++polls)
      if (polls > kSpins) std::this_thread::yield();
  }

 private:
  static constexpr int kSpins = 1000;

  const std::size_t members_;
  std::atomic<std::size_t> arrived_ = 0;
  std::atomic<std::int64_t> round_ = 0;
};

struct Turn {
  /// Which candidate is launched next; decided by the first device, read by all. Negative: the
  /// contest is over.
  std::atomic<std::ptrdiff_t> entrant = 0;
  std::atomic<bool> has_failed = false;  ///< A launch has thrown; nobody launches any more.
};

/// What one device does. Runs on the device's own thread, which owns the OpenMP team of the
/// kernels.
class Launcher : public Work {
 public:
  Launcher(Contestant& own, const std::vector<std::int64_t>& position, StartLine& line, Turn& turn)
      : line_(line), turn_(turn), own_(own), position_(position) {}

  /// Follows the first device.
  void run() override {
    while (true) {
      line_.wait();
      std::ptrdiff_t entrant = turn_.entrant;
      if (entrant < 0) break;
      launch(static_cast<std::size_t>(entrant));
      line_.wait();
    }
    rethrow();
  }

 protected:
  Nanoseconds launch(std::size_t entrant) {
    const OperandBlocks& all = own_.operands;
    std::int64_t offset = all.block.count * (launches_++ % all.blocks);
    operands_ = all.first;
    for (std::size_t at = 0; at < operands_.size(); ++at)
      if (all.moves[at]) operands_[at] += offset;
    for (const InPlace& pair : own_.in_place[entrant])
      operands_[static_cast<std::size_t>(pair.write)] =
          operands_[static_cast<std::size_t>(pair.read)];
    auto start = Clock::now();
    try {
      own_.kernels[entrant]->launch({operands_.data(), operands_.size() - 1}, operands_.back(),
                                    position_);
    } catch (...) {  // kept until the others have left the start line, or they would wait forever
      failure_ = std::current_exception();
      turn_.has_failed = true;
    }
    return Clock::now() - start;
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  StartLine& line_;
  Turn& turn_;

 private:
  Contestant& own_;
  const std::vector<std::int64_t>& position_;
  std::vector<DevicePointer> operands_;
  std::int64_t launches_ = 0;
  std::exception_ptr failure_;
};

/// The first device: it decides who is launched, and takes the times.
class Leader final : public Launcher {
 public:
  Leader(Contestant& own, const std::vector<std::int64_t>& position, StartLine& line, Turn& turn)
      : Launcher(own, position, line, turn), entrants_(own.kernels.size()) {}

  void run() override {
    // The first launches wake the team and find candidates not worth more time.
    for (Entrant& entrant : entrants_) take_time(entrant);
    for (Entrant& entrant : entrants_)
      if (entrant.total < kTelling) take_time(entrant);
    leave_out_hopeless();
    for (int round = 0; round < kMostRounds; ++round) {
      for (Entrant& entrant : entrants_) {
        entrant.in = entrant.in && (round < kFewestRounds || entrant.total < kLongEnough);
        if (entrant.in) take_time(entrant);
      }
    }
    turn_.entrant = -1;
    line_.wait();
    rethrow();
  }

  std::vector<std::vector<Nanoseconds>> times() const {
    std::vector<std::vector<Nanoseconds>> times;
    for (const Entrant& entrant : entrants_) {
      auto first = entrant.times.begin() + (entrant.times.size() > 1 ? 1 : 0);
      times.emplace_back(first, entrant.times.end());
    }
    return times;
  }

 private:
  struct Entrant {
    std::vector<Nanoseconds> times;
    Nanoseconds total{};
    bool in = true;
  };

  void take_time(Entrant& entrant) {
    if (turn_.has_failed) return;
    turn_.entrant = &entrant - entrants_.data();
    line_.wait();
    Nanoseconds time = launch(static_cast<std::size_t>(&entrant - entrants_.data()));
    line_.wait();
    entrant.times.push_back(time);
    entrant.total += time;
  }

  void leave_out_hopeless() {
    Nanoseconds best = Nanoseconds::max();
    if (turn_.has_failed) return;
    for (const Entrant& entrant : entrants_) best = std::min(best, std::ranges::min(entrant.times));
    for (Entrant& entrant : entrants_)
      entrant.in = static_cast<double>(std::ranges::min(entrant.times).count()) <=
                   kHopeless * static_cast<double>(best.count());
  }

  std::vector<Entrant> entrants_;
};

}  // namespace

std::vector<std::vector<Nanoseconds>> run_contest(std::vector<Contestant>& contestants,
                                                  const std::vector<std::int64_t>& position) {
  StartLine line(contestants.size());
  Turn turn;
  Leader leader(contestants[0], position, line, turn);
  std::deque<Launcher> others;
  std::deque<Event> done(contestants.size());
  for (std::size_t at = 1; at < contestants.size(); ++at) {
    others.emplace_back(contestants[at], position, line, turn);
    contestants[at].device->submit(others.back(), done[at]);
  }
  contestants[0].device->submit(leader, done[0]);
  for (Event& event : done) event.wait();
  return leader.times();
}

}  // namespace troika
