// The live line of a search for plans.
#pragma once

#include "cli/console.h"
#include "cli/stop_signals.h"
#include "search/find_plans.h"

namespace troika::cli {

/// Shows how a search is going, and ends it on Ctrl-C. One at a time.
class SearchProgress {
 public:
  /// Borrows the console.
  explicit SearchProgress(Console& console) : console_(console) {}

  /// Lets the search report here, and stop when asked to.
  void listen(PlanSearchOptions& options);
  /// Clears the live line.
  void finish();

 private:
  void show(const SearchStatus& status);

  Console& console_;
  StopSignals signals_;
  double shown_ = -1;  // seconds
  bool is_live_ = false;
};

}  // namespace troika::cli
