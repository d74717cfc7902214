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
  if (signal == SIGABRT) nanosleep(&kHeldUp, nullptr);
}

}  // namespace

EndSignals::EndSignals(Heartbeat& heartbeat) {
  watching = &heartbeat;
  struct sigaction action {};
  action.sa_handler = receive;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (int at = 0; at < 2; ++at) sigaction(kSignals[at], &action, &before_[at]);
}

EndSignals::~EndSignals() {
  for (int at = 0; at < 2; ++at) sigaction(kSignals[at], &before_[at], nullptr);
  watching = nullptr;
}

}  // namespace troika
