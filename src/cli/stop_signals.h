// Ctrl-C and its kin as a wish that a run may fulfil after its step.
#pragma once

#include <csignal>

namespace troika::cli {

/// While it lives, SIGINT, SIGTERM and SIGUSR1 set a flag instead of ending the process; a second
/// SIGINT ends it at once with code 130. One at a time.
class StopSignals {
 public:
  enum class Launcher { none, mpirun };
  /// SIGTERM stays as it is under mpirun, who sends it to the survivors of a lost rank.
  explicit StopSignals(Launcher launcher = Launcher::none);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool requested() const;
  /// "SIGINT", …; empty when nothing came.
  const char* name() const;

 private:
  int count_ = 3;
  struct sigaction before_[3]{};
};

}  // namespace troika::cli
