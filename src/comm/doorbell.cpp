#include "comm/doorbell.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

namespace troika {
namespace {

using namespace std::chrono_literals;

/// Without membarrier, which kernels before 4.14 and some containers lack, a ring may be missed, so
/// sleeps are short.
constexpr std::chrono::nanoseconds kSleepWithoutBarrier = 200us;

bool register_barrier() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/// Registered once per process, which the private expedited command requires before its first use.
bool has_barrier() {
  static const bool registered = register_barrier();
  return registered;
}

}  // namespace

Doorbell::Doorbell() { has_barrier(); }

// Dekker's handshake: the ringer stores its value and then reads sleepers_, the sleeper writes
// sleepers_ and then reads the value. membarrier makes every running thread of the process execute
// a full barrier, so that the ringer needs none.
std::uint32_t Doorbell::prepare_to_sleep() noexcept {
  std::uint32_t before = rings_.load(std::memory_order_acquire);
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  if (has_barrier()) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  return before;
}

// A ring since prepare_to_sleep has changed rings_, and the futex returns at once.
void Doorbell::wait_for_ring(std::uint32_t before, std::chrono::nanoseconds longest) noexcept {
  if (!has_barrier()) longest = std::min(longest, kSleepWithoutBarrier);
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
  timespec time{.tv_sec = static_cast<time_t>(seconds.count()),
                .tv_nsec = static_cast<long>((longest - seconds).count())};
  syscall(SYS_futex, &rings_, FUTEX_WAIT_PRIVATE, before, &time, nullptr, 0);
}

void Doorbell::wake() noexcept {
  rings_.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &rings_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace troika
