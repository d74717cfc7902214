// A wake-up between threads, named after the doorbell registers of network cards: a device sleeps
// at its doorbell, and whoever changes the state of one of its messages rings it. Ringing costs one
// load as long as nobody sleeps: the full memory barrier that this handshake needs is paid by the
// sleeper, for all threads (membarrier(2), "private expedited").
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace troika {

/// Thread-safe.
class alignas(64) Doorbell {
 public:
  Doorbell();

  /// Wakes the sleepers. To be called after storing the value that they wait for.
  void ring() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_relaxed) != 0) wake();
  }

  /// Sleeps until the next ring or for `longest`, or not at all if `ready()` returns true. It is
  /// called after the sleeper has become visible to ringers, so that no ring is missed.
  template <class Ready>
  void sleep(std::chrono::nanoseconds longest, Ready&& ready) {
    std::uint32_t before = prepare_to_sleep();
    const Sleeper awake_again(sleepers_);  // also if ready() throws
    if (!ready()) wait_for_ring(before, longest);
  }

 private:
  struct Sleeper {
    explicit Sleeper(std::atomic<std::uint32_t>& sleepers) : count(sleepers) {}
    Sleeper(const Sleeper&) = delete;
    ~Sleeper() { count.fetch_sub(1, std::memory_order_relaxed); }
    std::atomic<std::uint32_t>& count;
  };

  std::uint32_t prepare_to_sleep() noexcept;
  void wait_for_ring(std::uint32_t before, std::chrono::nanoseconds longest) noexcept;
  void wake() noexcept;

  std::atomic<std::uint32_t> sleepers_{0};
  std::atomic<std::uint32_t> rings_{0};
};

}  // namespace troika
