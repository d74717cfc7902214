// Whether a run fits into the memory of its devices, and what would help if it does not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "setup/live_model.h"
#include "taskgraph/memory_table.h"

namespace troika {

/// A device that would have to hold more than it has.
struct Shortage {
  DeviceId device;
  MemoryTable needed;
  Bytes there{};
};

/// Given what each device would hold, the one that is short of most; nothing where all fit, or
/// where their memory is not known.
std::optional<Shortage> find_shortage(const std::vector<MemoryTable>& needed,
                                      const Machine& machine);

struct FitRequest {
  const LiveModel& live;
  const RunPrograms& run;
  const Strategy& strategy;
};

/// Throws Error(memory) where a device is short: what it would hold, by category, and the cheapest
/// change that would fit. A sliced update costs a gathering per step, micro-batches cost smaller
/// kernels, more devices cost devices; they are tried in this order.
void require_fit(const FitRequest& request);

/// The same before the programs are added, whose kernels are then measured: a measurement takes
/// memory too. Kernels are chosen by rule and their workspace is not counted, since measured ones
/// may need less; so a run that passes may still be refused by require_fit.
void require_fit_to_measure(const FitRequest& request);

}  // namespace troika
