// A CPU device: cores of this machine, used by one thread with its own OpenMP team, and host
// memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"

namespace troika {

struct CpuOptions {
  int threads = 1;      ///< In the team, including the device's own thread.
  Bytes memory{};       ///< Limit of allocated memory; 0: no limit but the system's.
  std::string library;  ///< The kernel library and its version, as it appears in kind().
  std::vector<int> cores{};  ///< Of the team; empty: any core of the process.
};

/// Several devices may live in one process: their teams are disjoint. All functions may be called
/// from any thread. Throws Error(usage) if `threads` is less than one.
std::unique_ptr<Device> make_cpu_device(const CpuOptions& options);

/// The default size of a team: OMP_NUM_THREADS within OMP_THREAD_LIMIT, else the number of cores
/// that this process may use.
int openmp_threads();

}  // namespace troika
