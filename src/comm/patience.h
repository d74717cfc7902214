// How a thread waits: it asks again at once, then lets other threads run in between, then sleeps.
#pragma once

#include <sched.h>

namespace troika {

inline void pause_briefly() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

/// Devices that may be waiting, and cores that they may run on.
struct Crowd {
  int own_devices = 1, own_cores = 1;          ///< Of this process.
  int devices_here = 1, cores_of_machine = 1;  ///< Of all processes on this machine.
};

/// Whether there are more devices than cores. A process that the launcher has bound to a core of
/// its own shares it with its own devices only.
inline bool is_crowded(const Crowd& crowd) {
  return crowd.own_devices > crowd.own_cores || crowd.devices_here > crowd.cores_of_machine;
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
