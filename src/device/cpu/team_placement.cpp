#include "device/cpu/team_placement.h"

#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace troika {
namespace {

/// Lives as long as a thread of a team, and tells the team when that thread ends.
struct Membership {
  std::shared_ptr<std::atomic<bool>> has_lost_threads;

  ~Membership() {
    if (has_lost_threads) *has_lost_threads = true;
  }
};
thread_local Membership membership;
thread_local TeamPlacement* own_team = nullptr;  // that the thread leads

/// The cores that the calling thread may use, or nothing if `threads` are not to be placed on them.
std::optional<cpu_set_t> cores_to_share(int threads) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (threads == 1 || omp_get_proc_bind() != omp_proc_bind_false) return {};
  if (sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_COUNT(&cores) < threads) return {};
  return cores;
}

/// Every `step`-th core of `all`, from number `first` on.
cpu_set_t every_nth(const cpu_set_t& all, int first, int step) {
  cpu_set_t share;
  CPU_ZERO(&share);
  int number = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &all)) continue;
    if (number % step == first) CPU_SET(core, &share);
    ++number;
  }
  return share;
}

/// As in linux/sched/types.h, which clashes with sched.h.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes), policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;
};

/// Asks for short turns on a shared core. A thread gets the same share of the core, but sooner, so
/// the rest of its team waits for less time. Linux before 6.12 ignores the request.
void ask_for_short_slices() {
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.runtime = 100'000;  // nanoseconds, the least that Linux accepts
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

TeamPlacement::TeamPlacement(int threads)
    : threads_(threads),
      cores_(cores_to_share(threads)),
      has_lost_threads_(std::make_shared<std::atomic<bool>>(false)) {
  own_team = this;
  place();
}

TeamPlacement::~TeamPlacement() { own_team = nullptr; }

void TeamPlacement::renew() {
  if (own_team != nullptr && own_team->has_lost_threads_->load(std::memory_order_relaxed))
    own_team->place();
}

void TeamPlacement::place() {
  // Before the team is visited: a thread that ends meanwhile sets it again.
  has_lost_threads_->store(false);
  // Threads that were placed before keep their cores.
#pragma omp parallel num_threads(threads_)
  if (!membership.has_lost_threads) {
    // If the system refuses, the thread runs anywhere, as fast as before.
    if (cores_) {
      cpu_set_t share = every_nth(*cores_, omp_get_thread_num(), threads_);
      sched_setaffinity(0, sizeof share, &share);
    }
    ask_for_short_slices();
    membership.has_lost_threads = has_lost_threads_;
  }
}

}  // namespace troika
