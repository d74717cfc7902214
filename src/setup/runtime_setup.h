// Sets up the devices, transport, kernels and costs of a run from its [kernels] and [parallel]
// sections.
#pragma once

#include <functional>
#include <memory>

#include "config/run_config.h"
#include "cost/link_costs.h"
#include "device/device.h"
#include "kernels/kernel.h"
#include "machine/machine.h"
#include "profile/measured_costs.h"
#include "runtime/session.h"
#include "setup/ranks.h"

namespace troika {

struct RuntimeSetup {
  std::vector<std::unique_ptr<Device>> devices;  ///< The devices of this process.
  std::unique_ptr<Transport> transport;  ///< Between all devices; null if there is one device.
  std::unique_ptr<Backend> backend;
  bool is_measured = false;  ///< Kernels are chosen by measured times, else by rule.
  /// Measures kernels. Only the first rank has it; the others receive its rows.
  std::unique_ptr<MeasuredCosts> costs;
  LinkCosts links;             ///< The first rank's, on all ranks.
  Machine machine;             ///< The devices of all processes,
  std::vector<int> computers;  ///< and by device the number of its computer.
  Ranks* ranks = nullptr;      ///< Borrowed; never null after set_up_runtime.

  /// Any device of this process: all of them are of one kind.
  Device& device() const { return *devices.front(); }
  /// Threads of all devices of this process together.
  int threads() const { return static_cast<int>(devices.size()) * device().threads(); }
  /// The devices of this process by their ids in `machine`. The session borrows them.
  SessionDevices local() const;
  /// Returns the candidates for each row, with times if they are measured. A kind of device that
  /// the first rank does not have cannot be measured: its rows have no times, so that lowering
  /// takes them by rule. Collective: all ranks ask for the same rows in the same order.
  std::vector<std::vector<Candidate>> answer(const std::vector<KernelRequest>& asked);
};

struct KnownCosts {
  /// Used before all other times, so that a resumed run makes the choices of the earlier one. Rows
  /// for another kind of device are ignored.
  KernelTable given{};
  bool measures_anew = false;  ///< Measures again and replaces the times in the cache.
  /// How many devices share the computer, for plans that are simulated; unset: those of the run.
  std::optional<Occupancy> occupancy{};
};

/// Makes as many devices as [parallel] says, spread evenly over the ranks. Throws Error(usage) if
/// the backend is not available (naming the package that provides it) or if the number of ranks
/// does not divide the number of devices.
RuntimeSetup set_up_runtime(const KernelsConfig& kernels, const ParallelConfig& parallel,
                            KnownCosts known = {}, Ranks& ranks = sole_rank());

/// The processor and the build, on which measured times depend in addition to the kind of device.
std::string measured_by();

/// Returns the machine with the rates of its devices, measured once per kind of device.
Machine with_rates(Machine machine, const std::function<DeviceSpec(const DeviceSpec&)>& measure);

}  // namespace troika
