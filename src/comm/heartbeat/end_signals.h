// Signals that would end a rank before it has reported the cause: the launcher's SIGTERM to the
// survivors of a killed rank, and the SIGABRT of an MPI library that has lost a peer.
#pragma once

#include <csignal>

#include "comm/heartbeat/heartbeat.h"

namespace troika {

/// Passes these signals to the heartbeat while it lives; at most one object per process. An abort
/// is delayed until the heartbeat's on_failure should have ended the process.
class EndSignals {
 public:
  explicit EndSignals(Heartbeat& heartbeat);
  EndSignals(const EndSignals&) = delete;
  ~EndSignals();

 private:
  struct sigaction before_[2];
};

}  // namespace troika
