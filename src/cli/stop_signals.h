// Turns Ctrl-C and similar signals into a stop request, which a run obeys after its current step.
#pragma once

#include <csignal>

namespace troika::cli {

/// While it lives, SIGINT, SIGTERM and SIGUSR1 set a flag instead of ending the process; a second
/// SIGINT ends it at once with code 130. One at a time.
class StopSignals {
 public:
  enum class Launcher { none, mpirun };
  /// Under mpirun SIGTERM keeps its default action: mpirun sends it to the survivors of a lost
  /// rank.
  explicit StopSignals(Launcher launcher = Launcher::none);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool requested() const;
  /// "SIGINT", …; empty if none was received.
  const char* name() const;

 private:
  int count_ = 3;
  struct sigaction before_[3]{};
};

}  // namespace troika::cli
