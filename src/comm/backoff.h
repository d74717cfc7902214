// Back-off of a polling thread: it polls again at once, then yields its core between two polls,
// then sleeps.
#pragma once

#include <sched.h>

namespace troika {

inline void pause_briefly() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

/// Devices whose threads may be polling, and the cores that they share.
struct CoreDemand {
  int own_devices = 1, own_cores = 1;          ///< Of this process.
  int devices_here = 1, cores_of_machine = 1;  ///< Of all processes on this machine.
};

/// Returns true if there are more devices than cores. A process that the launcher has bound to its
/// own cores shares them with its own devices only, so both pairs are compared.
inline bool is_oversubscribed(const CoreDemand& demand) {
  return demand.own_devices > demand.own_cores || demand.devices_here > demand.cores_of_machine;
}

/// Counts the polls of one wait. Used by one thread.
class Backoff {
 public:
  /// To be called after a poll that found nothing. Pauses or yields for a moment and returns true,
  /// or returns false when the caller should sleep.
  bool try_again() {
    ++polls_;
    if (polls_ <= spins_) {
      if (polls_ > kHot) pause_briefly();
    } else if (polls_ <= spins_ + kYields) {
      sched_yield();
    } else {
      return false;
    }
    return true;
  }

  /// To be called after a poll that found something: the next wait spins again.
  void reset() { polls_ = 0; }

  /// Polls that found nothing since the last reset.
  int polls() const { return polls_; }
  bool has_spun() const { return polls_ >= spins_; }

  /// With more devices than cores a spinning thread keeps the one that it waits for from running,
  /// and 8 bytes take milliseconds instead of microseconds. With a core for each device, a thread
  /// that yields loses its core to other programs for that long.
  void set_oversubscribed(bool is_oversubscribed) {
    spins_ = is_oversubscribed ? kFewSpins : kManySpins;
  }

 private:
  static constexpr int kHot = 64;  // without a pause: an answer from another core takes about that
  static constexpr int kFewSpins = 16, kManySpins = 4096;
  // Yields before the caller should sleep.
  static constexpr int kYields = 64;

  int spins_ = kFewSpins;
  int polls_ = 0;
};

}  // namespace troika
