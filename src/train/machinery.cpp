#include "train/machinery.h"

#include <algorithm>
#include <thread>

#include "config/cache_folder.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/processor_name.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"

namespace troika {

std::vector<Candidate> Machinery::answer(const KernelKey& key) {
  return costs ? costs->answer(key) : backend->candidates(key);
}

Machinery make_machinery(const KernelsConfig& kernels, const ParallelConfig& parallel,
                         KnownCosts known) {
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
  // The reference kernels leave no choice.
  if (kernels.measure && kernels.backend == KernelsConfig::Backend::cpu)
    made.costs = std::make_unique<MeasuredCosts>(
        *made.device, *made.backend,
        MeasuredCosts::Options{cache_folder(kernels.cache), processor_name() + ", " TROIKA_BUILD,
                               std::move(known.given), known.measures_anew});
  return made;
}

}  // namespace troika
