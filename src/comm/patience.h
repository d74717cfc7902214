// How a thread waits: it asks again at once, then lets other threads run in between, then sleeps.
// How long it spins is learnt: with more devices than cores a spinning thread keeps the one it
// waits for from running, and 8 bytes take milliseconds instead of microseconds.
#pragma once

#include <sched.h>

#include <algorithm>

namespace troika {

inline void pause_briefly() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

class Patience {
 public:
  /// Asked in vain. False: the time has come to sleep.
  bool try_again() {
    ++times_;
    if (times_ <= spins_) {
      pause_briefly();
    } else if (times_ <= spins_ + kYields) {
      sched_yield();
    } else {
      return false;
    }
    return true;
  }

  /// The wait has ended.
  void succeed() {
    if (times_ == 0) return;
    spins_ =
        times_ <= spins_ ? std::min(spins_ * 2, kMostSpins) : std::max(spins_ / 2, kLeastSpins);
    times_ = 0;
  }

  /// Times asked in vain since the last success.
  int times() const { return times_; }

 private:
  static constexpr int kLeastSpins = 32, kMostSpins = 4096;
  static constexpr int kYields = 64;

  int spins_ = 1024;
  int times_ = 0;
};

}  // namespace troika
