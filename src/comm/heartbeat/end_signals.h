// Signals that would end a rank before it has said why: the launcher's SIGTERM to the survivors of
// a killed rank, and the SIGABRT of an MPI library that finds its peer gone.
#pragma once

#include <csignal>

#include "comm/heartbeat/heartbeat.h"

namespace troika {

/// Hands them to the heartbeat while it lives; one at a time per process. An abort is held up until
/// the heartbeat's on_failure should have ended the process.
class EndSignals {
 public:
  explicit EndSignals(Heartbeat& heartbeat);
  EndSignals(const EndSignals&) = delete;
  ~EndSignals();

 private:
  struct sigaction before_[2];
};

}  // namespace troika
