// Mutexes whose use clang checks (-Wthread-safety in `make lint`): a member that is
// TROIKA_GUARDED_BY a mutex is touched only while that mutex is held. The mutexes of libstdc++ are
// not annotated. Under GCC the annotations are empty.
#pragma once

#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define TROIKA_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define TROIKA_THREAD_SAFETY(attribute)
#endif

#define TROIKA_GUARDED_BY(mutex) TROIKA_THREAD_SAFETY(guarded_by(mutex))
/// The function must be called with the mutex held. Lambdas take it behind their parameters.
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

/// Holds a mutex while it lives, except between unlock() and lock().
class TROIKA_THREAD_SAFETY(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) TROIKA_THREAD_SAFETY(acquire_capability(mutex))
      : held_(mutex.mutex_) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() TROIKA_THREAD_SAFETY(release_capability()) = default;

  void lock() TROIKA_THREAD_SAFETY(acquire_capability()) { held_.lock(); }
  void unlock() TROIKA_THREAD_SAFETY(release_capability()) { held_.unlock(); }

  /// For std::condition_variable, which releases it only while it waits.
  std::unique_lock<std::mutex>& native() { return held_; }

 private:
  std::unique_lock<std::mutex> held_;
};

}  // namespace troika
