// Checks that a run fits into the memory of its devices, and finds a change that makes it fit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "setup/live_model.h"
#include "taskgraph/memory_table.h"

namespace troika {

/// A device that needs more memory than it has.
struct Shortage {
  DeviceId device;
  MemoryTable needed;
  Bytes available{};
};

/// Returns what each device of the machine holds for the programs, as the process that drives it
/// has it. Collective.
std::vector<MemoryTable> gather_memory(const LiveModel& live);

/// Returns the device that lacks the most memory, given the need of each; nothing if all fit.
/// Devices of unknown memory always fit.
std::optional<Shortage> find_shortage(const std::vector<MemoryTable>& needed,
                                      const Machine& machine);

struct FitRequest {
  const LiveModel& live;
  const RunPrograms& run;
  const Strategy& strategy;
};

/// Throws Error(memory) if a device lacks memory. The message lists its need by category and the
/// cheapest change that would fit. Changes are tried from cheap to expensive: updates that are not
/// carried over, a sliced update (one more all-gather per step), micro-batches (smaller kernels),
/// more devices. `needed`: from gather_memory, after all programs are added.
void require_fit(const FitRequest& request, const std::vector<MemoryTable>& needed);

/// The same check before the programs are added. Adding them measures kernels, which may itself
/// exhaust the memory of a run that cannot fit. Kernels are chosen by rule here and their workspace
/// is not counted, since measured kernels may need less; require_fit may still refuse the run.
void require_fit_to_measure(const FitRequest& request);

}  // namespace troika
