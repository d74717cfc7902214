// Some cores of this machine as a device: one thread with an OpenMP team of its own, and host
// memory.
#pragma once

#include <memory>
#include <string>

#include "device/device.h"

namespace troika {

struct CpuOptions {
  int threads = 1;      ///< In the team, the device's own thread included.
  Bytes memory{};       ///< Refuse to hold more than this; 0 leaves it to the system.
  std::string library;  ///< The kernel library and its version, as it appears in kind().
};

/// Several devices may live in one process: their teams are disjoint. All functions may be called
/// from any thread. Throws Error(usage) when there is less than one thread.
std::unique_ptr<Device> make_cpu_device(const CpuOptions& options);

/// The threads of a team that nobody has sized: what OMP_NUM_THREADS says, within OMP_THREAD_LIMIT,
/// else the cores that this process may use.
int openmp_threads();

}  // namespace troika
