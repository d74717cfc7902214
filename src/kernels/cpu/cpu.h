// The f32 kernels for CPUs: oneDNN primitives for what multiplies matrices, loops of our own for
// the rest.
#pragma once

#include <memory>
#include <string>

#include "kernels/kernel.h"

namespace troika {

struct CpuBackendOptions {
  int threads = 1;       ///< Of the device that launches; fixed when a kernel is compiled.
  bool winograd = true;  ///< Offer Winograd convolutions, which round less exactly.
};

/// Thread-safe; kernels made by it are not, each belongs to one device. Throws Error(usage) when
/// built without oneDNN.
std::unique_ptr<Backend> make_cpu_backend(const CpuBackendOptions& options);

/// "onednn 2.6.3", for the kind of a CPU device; empty when built without oneDNN.
std::string cpu_library();

}  // namespace troika
