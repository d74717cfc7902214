// The f32 kernels for CPUs: oneDNN primitives and our own kernels for convolutions and matrix
// products, our own loops for the rest.
#pragma once

#include <memory>
#include <string>

#include "kernels/kernel.h"

namespace troika {

struct CpuBackendOptions {
  int threads = 1;       ///< Threads of the device; fixed when a kernel is compiled.
  bool winograd = true;  ///< Offer Winograd convolutions, which have larger rounding errors.
};

/// Thread-safe; kernels made by it are not, each belongs to one device. Throws Error(usage) when
/// built without oneDNN.
std::unique_ptr<Backend> make_cpu_backend(const CpuBackendOptions& options);

/// "onednn 2.6.3", for the kind of a CPU device; empty if built without oneDNN.
std::string cpu_library();

}  // namespace troika
