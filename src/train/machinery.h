// The device and kernels of a run, as its [kernels] and [parallel] sections ask for them.
#pragma once

#include <memory>

#include "config/run_config.h"
#include "device/device.h"
#include "kernels/kernel.h"
#include "machine/machine.h"

namespace troika {

struct Machinery {
  std::unique_ptr<Device> device;
  std::unique_ptr<Backend> backend;
  /// What kernels are chosen by: fixed figures, so that equal runs make equal choices.
  Machine machine;
};

/// Throws Error(usage) when the backend is not there, with the package that would bring it.
Machinery make_machinery(const KernelsConfig& kernels, const ParallelConfig& parallel);

}  // namespace troika
