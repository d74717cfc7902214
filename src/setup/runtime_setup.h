// The device and kernels of a run, as its [kernels] and [parallel] sections ask for them.
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
  std::vector<std::unique_ptr<Device>> devices;  ///< Of this process.
  std::unique_ptr<Transport> transport;          ///< Between all; null where one is alone.
  std::unique_ptr<Backend> backend;
  /// Kernels are chosen by their times, else by rule.
  bool is_measured = false;
  /// Where times come from: the first rank has it, and tells the others.
  std::unique_ptr<MeasuredCosts> costs;
  LinkCosts links;  ///< What messages cost, for all ranks as the first one knows it.
  Machine machine;  ///< With the devices of all processes.
  /// This computer has cores that no device's thread takes.
  bool has_free_cores = false;
  Ranks* ranks = nullptr;  ///< Borrowed; null where this process is alone.

  int rank() const { return ranks != nullptr ? ranks->rank() : 0; }

  /// All devices are of one kind; this one is asked where any would do.
  Device& device() const { return *devices.front(); }
  /// In all devices of this process: its share of the computer.
  int threads() const { return static_cast<int>(devices.size()) * device().threads(); }
  /// For a session, which borrows them.
  SessionDevices local() const;
  /// What the backend has for each key; with times where they are measured. All ranks ask for the
  /// same keys in the same order.
  std::vector<std::vector<Candidate>> answer(const std::vector<KernelKey>& keys);
};

struct KnownCosts {
  /// Come before all others: with those of an earlier run, equal runs make equal choices. Those of
  /// another kind of device are left aside.
  CostFile given{};
  bool measures_anew = false;  ///< Kept times are replaced, not used.
};

/// As many devices as [parallel] says, all in this process or spread evenly over the ranks. Throws
/// Error(usage) when the backend is not there, with the package that would bring it, or when the
/// ranks do not divide the devices.
RuntimeSetup set_up_runtime(const KernelsConfig& kernels, const ParallelConfig& parallel,
                            KnownCosts known = {}, Ranks* ranks = nullptr);

/// The machine with the rates of its devices, measured once for each kind of them.
Machine with_rates(Machine machine, const std::function<DeviceSpec(const DeviceSpec&)>& measure);

}  // namespace troika
