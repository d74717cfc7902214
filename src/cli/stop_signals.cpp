#include "cli/stop_signals.h"

#include <unistd.h>

#include <atomic>

namespace troika::cli {
namespace {

// SIGTERM is last, because the constructor leaves it out under mpirun. Slurm and users send SIGUSR1
// before a time limit.
constexpr int kSignals[] = {SIGINT, SIGUSR1, SIGTERM};
// 128 + SIGINT, as shells report a process that Ctrl-C ended.
constexpr int kAbandonedExitCode = 130;

// A signal handler can reach nothing but a global; the one owner of it is StopSignals.
std::atomic<int> received = 0;
static_assert(std::atomic<int>::is_always_lock_free);

/// Runs in a signal handler: only a lock-free atomic and _exit are allowed, no cleaning up.
void receive(int signal) {
  if (received.exchange(signal) == SIGINT && signal == SIGINT) _exit(kAbandonedExitCode);
}

}  // namespace

StopSignals::StopSignals(Launcher launcher) : count_(launcher == Launcher::none ? 3 : 2) {
  received = 0;
  struct sigaction action {};
  action.sa_handler = receive;
  // Reads and writes of the run continue instead of failing with EINTR.
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (int at = 0; at < count_; ++at) sigaction(kSignals[at], &action, &before_[at]);
}

StopSignals::~StopSignals() {
  for (int at = 0; at < count_; ++at) sigaction(kSignals[at], &before_[at], nullptr);
}

bool StopSignals::requested() const { return received != 0; }

const char* StopSignals::name() const {
  switch (received.load()) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGUSR1:
      return "SIGUSR1";
    default:
      return "";
  }
}

}  // namespace troika::cli
