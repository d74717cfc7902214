// How a thread waits: it asks again at once, then lets other threads run in between, then sleeps.
#pragma once

#include <sched.h>

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
      if (times_ > kHot) pause_briefly();
    } else if (times_ <= spins_ + kYields) {
      sched_yield();
    } else {
      return false;
    }
    return true;
  }

  /// The wait has ended.
  void succeed() { times_ = 0; }

  /// Times asked in vain since the last success.
  int times() const { return times_; }
  bool spins_no_more() const { return times_ >= spins_; }

  /// With more devices than cores a spinning thread keeps the one that it waits for from running,
  /// and 8 bytes take milliseconds instead of microseconds. With a core for each, a thread that
  /// yields loses its own to others for that long.
  void set_crowded(bool is_crowded) { spins_ = is_crowded ? kFewSpins : kManySpins; }

 private:
  static constexpr int kHot = 64;  // asked without a pause: an answer takes about as long as that
  static constexpr int kFewSpins = 16, kManySpins = 4096;
  static constexpr int kYields = 64;

  int spins_ = kFewSpins;
  int times_ = 0;
};

}  // namespace troika
