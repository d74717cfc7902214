#include "comm/heartbeat/end_signals.h"

#include <time.h>

#include <atomic>

namespace troika {
namespace {

constexpr int kSignals[] = {SIGTERM, SIGABRT};
/// Delay of an abort: well beyond HeartbeatTimes::grace and the goodbyes.
constexpr timespec kHeldUp{2, 0};

// A signal handler can reach nothing but a global; the one owner of it is EndSignals.
std::atomic<Heartbeat*> watching = nullptr;
static_assert(std::atomic<Heartbeat*>::is_always_lock_free);

void receive(int signal) {
  Heartbeat* heartbeat = watching;
  if (heartbeat == nullptr) return;
  heartbeat->terminate(signal);
  // abort() ends the process when the handler returns; the heartbeat's thread needs that time to
  // learn the cause and end the process itself. SIGTERM does not end it once it has a handler.
  if (signal == SIGABRT) nanosleep(&kHeldUp, nullptr);
}

}  // namespace

EndSignals::EndSignals(Heartbeat& heartbeat) {
  // Before the handlers are installed, which use it.
  watching = &heartbeat;
  struct sigaction action {};
  action.sa_handler = receive;
  // System calls of MPI and of file output must not fail with EINTR because of a signal.
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (int at = 0; at < 2; ++at) sigaction(kSignals[at], &action, &before_[at]);
}

EndSignals::~EndSignals() {
  // The old handlers first: a signal must not find a handler whose heartbeat is gone.
  for (int at = 0; at < 2; ++at) sigaction(kSignals[at], &before_[at], nullptr);
  watching = nullptr;
}

}  // namespace troika
