// A mutex with annotations for clang's -Wthread-safety (`make lint`): a member that is
// TROIKA_GUARDED_BY a mutex may be accessed only while that mutex is held. The mutexes of libstdc++
// lack these annotations. Under GCC they expand to nothing.
#pragma once

#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define TROIKA_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define TROIKA_THREAD_SAFETY(attribute)
#endif

#define TROIKA_GUARDED_BY(mutex) TROIKA_THREAD_SAFETY(guarded_by(mutex))
/// The function must be called with the mutex held. In a lambda it follows the parameters.
#define TROIKA_REQUIRES(mutex) TROIKA_THREAD_SAFETY(requires_capability(mutex))

namespace troika {

class TROIKA_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  void lock() TROIKA_THREAD_SAFETY(acquire_capability()) { mutex_.lock(); }
  void unlock() TROIKA_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }

 private:
  friend class Lock;
  std::mutex mutex_;
};

/// A scoped lock; unlock() and lock() release and take the mutex in between.
class TROIKA_THREAD_SAFETY(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) TROIKA_THREAD_SAFETY(acquire_capability(mutex))
      : held_(mutex.mutex_) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() TROIKA_THREAD_SAFETY(release_capability()) = default;

  void lock() TROIKA_THREAD_SAFETY(acquire_capability()) { held_.lock(); }
  void unlock() TROIKA_THREAD_SAFETY(release_capability()) { held_.unlock(); }

  /// For std::condition_variable::wait, which returns with the mutex held again.
  std::unique_lock<std::mutex>& native() { return held_; }

 private:
  std::unique_lock<std::mutex> held_;
};

}  // namespace troika
