// Kernels for plans that are simulated, on devices that need not exist here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "cost/kernel_table.h"
#include "kernels/kernel.h"
#include "machine/machine.h"
#include "search/scoring_kernels.h"
#include "setup/runtime_setup.h"
#include "sim/busy_neighbours.h"

namespace troika {

/// Answers the rows that lowering asks for: from given costs, else for kinds of this machine as a
/// run here would have them (from the cache, or measured now), else by a fit over the given costs
/// (search/scoring_kernels.h), else with a plain kernel that has no time, so that lowering takes
/// the roofline of the device. Used by one thread.
class PlanKernels {
 public:
  struct Options {
    KernelTable given{};
    bool measures = true;  ///< False: kernels of this machine are not measured either.
    /// The machine is this computer, so devices beyond its cores take turns. Those of another one
    /// have cores of their own.
    bool is_here = false;
    KernelsConfig kernels{};  ///< Of this machine; the kind of a device decides about the backend.
    Bytes step{};             ///< What a device touches in a step; 0: more than the caches hold.
  };
  explicit PlanKernels(Options options);

  /// Kernels are from now on those of devices beside as many others as this machine's nodes have.
  /// Gives devices that are of a kind of this machine the rates of that kind, which are measured
  /// now, unless their kernels have measured times. All others keep theirs. Says whether this
  /// computer has cores to spare, if the machine is taken to be this computer.
  void meet(Machine& machine);
  std::vector<std::vector<Candidate>> answer(const std::vector<KernelRequest>& rows);
  /// How the kernels were timed that have been asked for, by the kind of the first device.
  TimedBeside timed(const Machine& machine);
  /// Keeps what was measured for later runs.
  void finish();

  /// Rows by where their times come from.
  struct Sources {
    std::int64_t given = 0;         ///< The costs that were given.
    std::int64_t measured = 0;      ///< This machine, now or earlier.
    std::int64_t fitted = 0;        ///< Estimated from given costs of other kernels.
    std::int64_t estimated = 0;     ///< The roofline.
    std::int64_t measured_now = 0;  ///< Kernels that were measured by this object.
  };
  const Sources& sources() const { return sources_; }

 private:
  /// Null for kinds that this machine does not have.
  RuntimeSetup* find_here(const std::string& kind);
  std::vector<Candidate> answer_row(const KernelRequest& row);

  Options options_;
  std::int32_t devices_ = 1;  // of a node
  std::unique_ptr<Backend> plain_;
  std::map<std::string, std::optional<RuntimeSetup>> here_;  // by kind of device, if asked for
  std::optional<ScoringKernels> fitted_;                     // to the given costs
  Sources sources_;
};

/// The table with the rows of another one.
KernelTable with_rows(KernelTable table, const KernelTable& more);

}  // namespace troika
