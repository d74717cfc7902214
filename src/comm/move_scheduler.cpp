#include "comm/move_scheduler.h"

#include <sched.h>

#include <algorithm>
#include <mutex>

#include "base/cores.h"

namespace troika {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// A lost wake-up would cost this long, not for ever.
constexpr std::chrono::nanoseconds kLongSleep = 1s;
/// Between two polls of a transport without a doorbell.
constexpr std::chrono::nanoseconds kShortSleep = 20us;
/// The same on a core that a device uses. A link of 1 Gb/s moves 64 KiB meanwhile, less than what
/// the system buffers; waking up takes about a hundredth of it.
constexpr std::chrono::nanoseconds kSleepOnSharedCore = 500us;
/// Polls of a wait before the clock is read. They take about half a microsecond, longer than an
/// answer from another core, which the clock must not delay.
constexpr int kUntimedPolls = 64;
/// Operations that may be under way before the lists grow: more than a step of the models in zoo/
/// starts at once.
constexpr std::size_t kExpected = 64;

}  // namespace

/// Has the turn while it lives. Without a background thread there is nobody to share it with, and
/// it costs nothing.
class MoveScheduler::Turn {
 public:
  explicit Turn(MoveScheduler& scheduler) : scheduler_(scheduler) {
    if (scheduler_.has_thread_) scheduler_.take_turn();
  }
  /// Does not wait: false if the background thread has the turn.
  Turn(MoveScheduler& scheduler, std::try_to_lock_t)
      : scheduler_(scheduler), is_mine_(!scheduler.has_thread_ || scheduler.try_take_turn()) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (is_mine_ && scheduler_.has_thread_) scheduler_.leave_turn();
  }
  explicit operator bool() const { return is_mine_; }

 private:
  MoveScheduler& scheduler_;
  bool is_mine_ = true;
};

MoveScheduler::MoveScheduler(Transport& transport, DeviceId device, MoveSchedulerOptions options)
    : transport_(transport),
      device_(device),
      doorbell_(transport.doorbell(device)),
      cores_(std::max(1, static_cast<int>(usable_cores().size()))),
      cores_of_machine_(std::max(cores_, cores_of_machine())),
      has_thread_(options.thread != MoverThread::none),
      shares_core_(options.thread == MoverThread::shared_core) {
  running_.reserve(kExpected);
  if (!has_thread_) return;
  arriving_.reserve(kExpected);
  {
    Lock lock(mutex_);
    handed_over_.reserve(kExpected);
  }
  thread_ = std::jthread([this](const std::stop_token& stop) {
    shares_core_ ? run_now_and_then(stop) : run_thread(stop);
  });
}

// The background thread may sleep with the turn (at doorbell_) or without it (at thread_doorbell_).
MoveScheduler::~MoveScheduler() {
  if (!has_thread_) return;
  thread_.request_stop();
  is_wanted_.store(true);
  thread_doorbell_.ring();
  if (doorbell_ != nullptr) doorbell_->ring();
}

void MoveScheduler::start(Operation& operation, std::uint64_t urgency) {
  if (!operation
           .is_done()) {  // dropped after a failure, or started twice, which open_round reports
    Turn turn(*this);
    rethrow_failure();
  }
  operation.open_round();
  Running running{&operation, urgency, ++starts_};
  // Before the operation is visible to the background thread, which counts it down.
  if (has_thread_) unfinished_.fetch_add(1);
  if (Turn turn(*this, std::try_to_lock); turn) {
    run_or_fail([&] {
      insert_handed_over();  // started earlier, so their messages are offered earlier
      insert(running);
    });
  } else {
    hand_over(running);
  }
}

bool MoveScheduler::advance(std::chrono::nanoseconds budget) {
  Turn turn(*this, std::try_to_lock);
  if (!turn) return false;
  bool moved = false;
  run_or_fail([&] {
    // The clock is read only if something was ready: this is called after every kernel.
    moved = run_ready();
    if (!moved || budget <= 0ns) return;
    auto end = Clock::now() + budget;
    while (Clock::now() < end && run_ready()) continue;
  });
  return moved;
}

std::chrono::nanoseconds MoveScheduler::wait(const Operation& operation) {
  std::chrono::nanoseconds idle{0};
  // The background thread may have completed it; then the turn is not needed.
  if (operation.is_done()) return idle;
  Turn turn(*this);
  backoff_.reset();
  run_or_fail([&] {
    Clock::time_point idle_since{};
    while (!operation.is_done()) {
      // Idle time is counted from the last untimed poll on; shorter waits count as none.
      if (backoff_.polls() == kUntimedPolls - 1) idle_since = Clock::now();
      if (!run_ready() && !back_off(backoff_)) continue;
      if (backoff_.polls() >= kUntimedPolls) idle += Clock::now() - idle_since;
      backoff_.reset();
    }
  });
  return idle;
}

template <class Body>
void MoveScheduler::run_or_fail(const Body& body) {
  rethrow_failure();
  try {
    body();
  } catch (...) {
    fail();
    throw;
  }
}

// Operations are dropped at once: their owners destroy them when the exception reaches them, and
// after a lost message no collective of this device can complete.
void MoveScheduler::fail() noexcept {
  failure_ = std::current_exception();
  running_.clear();
  unfinished_.store(0);
}

void MoveScheduler::rethrow_failure() const {
  if (failure_) std::rethrow_exception(failure_);
}

// The plain load keeps the cache line shared while another thread has the turn.
bool MoveScheduler::try_take_turn() {
  return !is_taken_.load(std::memory_order_relaxed) && !is_taken_.exchange(true);
}

// The background thread gives the turn up after the chunk that it is running.
void MoveScheduler::take_turn() {
  if (try_take_turn()) return;
  is_wanted_.store(true);
  Backoff backoff;
  while (!try_take_turn()) {
    if (doorbell_ != nullptr) doorbell_->ring();  // it may be asleep with the turn
    if (backoff.try_again()) continue;
    sched_yield();
    backoff.reset();
  }
  is_wanted_.store(false);
}

void MoveScheduler::leave_turn() {
  is_taken_.store(false);
  // The background thread continues what is under way while the device's thread computes.
  if (unfinished_.load(std::memory_order_relaxed) > 0) thread_doorbell_.ring();
}

// One chunk of the most urgent operation that has a ready move, then back to the caller: the next
// call begins again with the most urgent one, which is how a short message overtakes a long one.
bool MoveScheduler::run_ready() {
  if (has_thread_) insert_handed_over();
  for (std::size_t at = 0; at < running_.size(); ++at) {
    Operation::Progress progress = running_[at].operation->advance();
    if (progress == Operation::Progress::blocked) continue;
    if (progress == Operation::Progress::done) {
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
      count_done();
    }
    return true;
  }
  // Nothing was ready: the transport gets a chance to move bytes, or to throw if a peer is lost.
  transport_.progress();
  return false;
}

void MoveScheduler::insert(const Running& running) {
  // A round without moves never enters the list.
  if (running.operation->begin()) return count_done();
  auto goes_first = [&](const Running& other) {
    return other.urgency != running.urgency ? other.urgency > running.urgency
                                            : other.number < running.number;
  };
  running_.insert(std::ranges::find_if_not(running_, goes_first), running);
}

void MoveScheduler::count_done() {
  if (has_thread_) unfinished_.fetch_sub(1);
}

// The device's thread does not wait for a chunk of the background thread only to start an
// operation: it leaves the operation here, and whoever has the turn inserts it before its next
// move.
void MoveScheduler::hand_over(const Running& running) {
  {
    Lock lock(mutex_);
    handed_over_.push_back(running);
  }
  has_handed_over_.store(true);
  if (doorbell_ != nullptr) doorbell_->ring();
}

void MoveScheduler::insert_handed_over() {
  if (!has_handed_over_.load(std::memory_order_relaxed)) return;
  has_handed_over_.store(false);  // before the list is taken, so that a later push is seen
  {
    Lock lock(mutex_);
    arriving_.swap(handed_over_);
  }
  for (const Running& running : arriving_) insert(running);
  arriving_.clear();
}

/// Pauses, yields or sleeps. Returns true if a move ran meanwhile.
bool MoveScheduler::back_off(Backoff& backoff) {
  // Asked only at the end of spinning: devices may have joined since, and short waits stay cheap.
  if (backoff.has_spun()) backoff.set_oversubscribed(is_oversubscribed(core_demand()));
  if (backoff.try_again()) return false;
  bool moved = false;
  if (doorbell_ == nullptr) {
    std::this_thread::sleep_for(kShortSleep);
  } else {
    // Polls once more after it has become visible as a sleeper, so that no ring is missed.
    doorbell_->sleep(kLongSleep, [&] { return (moved = run_ready()) || is_wanted_.load(); });
  }
  return moved;
}

CoreDemand MoveScheduler::core_demand() const {
  return {.own_devices = transport_.local_devices(),
          .own_cores = cores_,
          .devices_here = transport_.devices_here(),
          .cores_of_machine = cores_of_machine_};
}

void MoveScheduler::run_thread(const std::stop_token& stop) {
  // While the device's thread wants the turn or has it, this thread sleeps at its own doorbell.
  auto may_run = [&] {
    return stop.stop_requested() ||
           (unfinished_.load() > 0 && !is_wanted_.load() && !is_taken_.load());
  };
  while (!stop.stop_requested()) {
    if (may_run() && try_take_turn()) {
      run_while_free(stop);
      leave_turn();
    } else {
      thread_doorbell_.sleep(kLongSleep, may_run);
    }
  }
}

// It never sleeps with the turn, so that the device's thread gets it at once.
void MoveScheduler::run_now_and_then(const std::stop_token& stop) {
  auto has_work = [&] { return stop.stop_requested() || unfinished_.load() > 0; };
  while (!stop.stop_requested()) {
    if (!has_work()) {
      thread_doorbell_.sleep(kLongSleep, has_work);
      continue;
    }
    if (try_take_turn()) {
      try {
        rethrow_failure();
        while (!is_wanted_.load() && run_ready()) continue;
      } catch (...) {
        fail();  // kept for the device's thread
      }
      is_taken_.store(false);
    }
    std::this_thread::sleep_for(kSleepOnSharedCore);
  }
}

void MoveScheduler::run_while_free(const std::stop_token& stop) {
  Backoff backoff;
  try {
    rethrow_failure();
    while (!stop.stop_requested() && !is_wanted_.load() && unfinished_.load() > 0) {
      if (run_ready() || back_off(backoff)) backoff.reset();
    }
  } catch (...) {
    fail();  // kept for the device's thread
  }
}

}  // namespace troika
