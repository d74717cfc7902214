#include "train/machinery.h"

#include <algorithm>
#include <thread>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"

namespace troika {

Machinery make_machinery(const KernelsConfig& kernels, const ParallelConfig& parallel) {
  int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  int threads = parallel.threads ? static_cast<int>(*parallel.threads) : cores;
  Machinery made;
  if (kernels.backend == KernelsConfig::Backend::cpu) {
    made.backend = make_cpu_backend({.threads = threads, .winograd = kernels.winograd});
    made.device = make_cpu_device({.threads = threads, .library = cpu_library()});
  } else {
    made.backend = make_reference_backend();
    made.device = make_cpu_device({.threads = threads, .library = "reference"});
  }
  made.machine.devices = {{.name = "cpu0", .kind = made.device->kind()}};
  return made;
}

}  // namespace troika
