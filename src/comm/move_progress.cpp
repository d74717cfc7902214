#include "comm/move_progress.h"

#include <sched.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/cores.h"
#include "base/error.h"
#include "comm/operation.h"

namespace troika {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds kLongSleep = 1s;
/// Where nobody rings.
constexpr std::chrono::nanoseconds kShortSleep = 20us;
/// Asking so often in vain takes about half a microsecond; a clock is looked at from then on. An
/// answer from a core of another cache comes before, and is not held up by the clock.
constexpr int kUntimed = 64;

}  // namespace

/// Has the turn for as long as it lives.
class MoveProgress::Turn {
 public:
  explicit Turn(MoveProgress& progress) : progress_(progress) {
    if (progress_.has_thread_) progress_.take_turn();
  }
  /// Does not wait for it: false where the other thread has it.
  Turn(MoveProgress& progress, std::try_to_lock_t)
      : progress_(progress), is_mine_(!progress.has_thread_ || progress.try_take_turn()) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (is_mine_ && progress_.has_thread_) progress_.leave_turn();
  }
  explicit operator bool() const { return is_mine_; }

 private:
  MoveProgress& progress_;
  bool is_mine_ = true;
};

MoveProgress::MoveProgress(Transport& transport, DeviceId device, MoveProgressOptions options)
    : transport_(transport),
      device_(device),
      bell_(transport.bell(device)),
      cores_(std::max(1, static_cast<int>(usable_cores().size()))),
      cores_of_machine_(std::max(cores_, cores_of_machine())),
      has_thread_(options.has_thread) {
  if (has_thread_)
    thread_ = std::jthread([this](const std::stop_token& stop) { run_thread(stop); });
}

MoveProgress::~MoveProgress() {
  if (!has_thread_) return;
  thread_.request_stop();
  is_wanted_.store(true);
  thread_bell_.ring();
  if (bell_ != nullptr) bell_->ring();
}

void MoveProgress::make_room() {
  Turn turn(*this);
  underway_.reserve(++operations_);
}

void MoveProgress::forget(Operation& operation) {
  Turn turn(*this);
  try {
    insert_handed_over();
  } catch (...) {  // of other operations, whose wait will tell
    failure_ = std::current_exception();
  }
  --operations_;
  if (std::erase(underway_, &operation) > 0) count_finished();
}

void MoveProgress::start(Operation& operation) {
  operation.number_ = ++starts_;
  operation.done_.store(false, std::memory_order_relaxed);
  if (!has_thread_) return insert(operation);
  unfinished_.fetch_add(1);
  operation.next_handed_over_ = handed_over_.load(std::memory_order_relaxed);
  while (!handed_over_.compare_exchange_weak(operation.next_handed_over_, &operation)) continue;
  if (Turn turn(*this, std::try_to_lock); turn) {
    insert_handed_over();
  } else if (bell_ != nullptr) {
    bell_->ring();
  }
}

bool MoveProgress::advance(std::chrono::nanoseconds budget) {
  Turn turn(*this, std::try_to_lock);
  if (!turn) return false;
  rethrow_failure();
  if (!run_ready()) return false;
  if (budget <= 0ns) return true;
  auto end = Clock::now() + budget;
  while (Clock::now() < end && run_ready()) continue;
  return true;
}

bool MoveProgress::test(Operation& operation) {
  if (!operation.is_done()) advance();
  return operation.is_done();
}

void MoveProgress::wait(Operation& operation) {
  if (operation.is_done()) return;
  Turn turn(*this);
  Clock::time_point idle_since{};
  while (!operation.is_done()) {
    rethrow_failure();
    if (patience_.times() == kUntimed - 1) idle_since = Clock::now();
    if (!run_ready() && !rest(patience_)) continue;
    if (patience_.times() >= kUntimed) operation.waited_ += Clock::now() - idle_since;
    patience_.succeed();
  }
}

bool MoveProgress::try_take_turn() {
  return !is_taken_.load(std::memory_order_relaxed) && !is_taken_.exchange(true);
}

void MoveProgress::take_turn() {
  if (try_take_turn()) return;
  is_wanted_.store(true);
  Patience patience;
  while (!try_take_turn()) {
    if (bell_ != nullptr) bell_->ring();  // the other thread may be asleep with the turn
    if (patience.try_again()) continue;
    sched_yield();
    patience.succeed();
  }
  is_wanted_.store(false);
}

void MoveProgress::leave_turn() {
  is_taken_.store(false);
  if (unfinished_.load(std::memory_order_relaxed) > 0) thread_bell_.ring();
}

bool MoveProgress::run_ready() {
  if (has_thread_) insert_handed_over();
  for (std::size_t at = 0; at < underway_.size(); ++at) {
    Operation& operation = *underway_[at];
    if (!operation.advance()) continue;
    if (operation.unfinished_ == 0) {
      underway_.erase(underway_.begin() + static_cast<std::ptrdiff_t>(at));
      finish(operation);
    }
    return true;
  }
  transport_.progress();
  return false;
}

void MoveProgress::insert(Operation& operation) {
  operation.open_first();
  if (operation.unfinished_ == 0) return finish(operation);
  auto goes_first = [&](const Operation* other) {
    return other->urgency_ != operation.urgency_ ? other->urgency_ > operation.urgency_
                                                 : other->number_ < operation.number_;
  };
  underway_.insert(std::ranges::find_if_not(underway_, goes_first), &operation);
}

void MoveProgress::insert_handed_over() {
  if (handed_over_.load(std::memory_order_relaxed) == nullptr) return;
  Operation* latest = handed_over_.exchange(nullptr, std::memory_order_acquire);
  // Messages are offered in the order in which their operations were started.
  Operation* earliest = nullptr;
  while (latest != nullptr) {
    Operation* before = std::exchange(latest->next_handed_over_, earliest);
    earliest = std::exchange(latest, before);
  }
  while (earliest != nullptr) {
    Operation* next = earliest->next_handed_over_;
    insert(*earliest);
    earliest = next;
  }
}

void MoveProgress::finish(Operation& operation) {
  count_finished();
  operation.done_.store(true, std::memory_order_release);
}

void MoveProgress::count_finished() {
  if (has_thread_) unfinished_.fetch_sub(1);
}

bool MoveProgress::rest(Patience& patience) {
  if (patience.spins_no_more()) patience.set_crowded(is_crowded(crowd()));
  if (patience.try_again()) return false;
  bool moved = false;
  if (bell_ == nullptr) {
    std::this_thread::sleep_for(kShortSleep);
  } else {
    bell_->sleep(kLongSleep, [&] { return (moved = run_ready()) || is_wanted_.load(); });
  }
  return moved;
}

Crowd MoveProgress::crowd() const {
  return {.own_devices = transport_.local_devices(),
          .own_cores = cores_,
          .devices_here = transport_.devices_here(),
          .cores_of_machine = cores_of_machine_};
}

void MoveProgress::rethrow_failure() {
  if (failure_) std::rethrow_exception(failure_);
}

void MoveProgress::run_thread(const std::stop_token& stop) {
  auto may_run = [&] {
    return stop.stop_requested() ||
           (unfinished_.load() > 0 && !is_wanted_.load() && !is_taken_.load());
  };
  while (!stop.stop_requested()) {
    if (may_run() && try_take_turn()) {
      run_while_free(stop);
      leave_turn();
    } else {
      thread_bell_.sleep(kLongSleep, may_run);
    }
  }
}

void MoveProgress::run_while_free(const std::stop_token& stop) {
  Patience patience;
  try {
    while (!stop.stop_requested() && !is_wanted_.load() && unfinished_.load() > 0) {
      if (run_ready() || rest(patience)) patience.succeed();
    }
  } catch (...) {
    failure_ = std::current_exception();
    unfinished_.store(0);
  }
}

}  // namespace troika
