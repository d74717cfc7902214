#include "train/machinery.h"

#include <algorithm>

#include "base/cores.h"
#include "comm/threads/thread_transport.h"
#include "config/cache_folder.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/processor_name.h"
#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"
#include "machine/this_machine.h"

namespace troika {

std::vector<Candidate> Machinery::answer(const KernelKey& key) {
  return costs ? costs->answer(key) : backend->candidates(key);
}

SessionDevices Machinery::local() const {
  SessionDevices local{.transport = transport.get()};
  std::size_t next = 0;
  for (std::size_t at = 0; at < machine.devices.size(); ++at)
    if (machine.devices[at].rank == rank) local.devices[DeviceId(at)] = devices.at(next++).get();
  return local;
}

Machinery make_machinery(const KernelsConfig& kernels, const ParallelConfig& parallel,
                         KnownCosts known) {
  auto count = static_cast<int>(parallel.devices);
  int threads = parallel.threads ? static_cast<int>(*parallel.threads)
                                 : std::max(1, static_cast<int>(usable_cores().size()) / std::max(1, count));
  Bytes share = this_machine(count, threads).devices.at(0).memory;
  bool is_cpu = kernels.backend == KernelsConfig::Backend::cpu;
  Machinery made;
  if (is_cpu)
    made.backend = make_cpu_backend({.threads = threads, .winograd = kernels.winograd});
  else
    made.backend = make_reference_backend();
  for (int at = 0; at < count; ++at) {
    made.devices.push_back(
        make_cpu_device({.threads = threads, .library = is_cpu ? cpu_library() : "reference"}));
    made.machine.devices.push_back({.name = "cpu" + std::to_string(at),
                                    .kind = made.device().kind(),
                                    .memory = parallel.memory.value_or(share)});
  }
  if (count > 1) made.transport = std::make_unique<ThreadTransport>();
  // The reference kernels leave no choice; and times that differ from run to run must not choose
  // where the bits shall be the same.
  if (kernels.measure && is_cpu && parallel.order != ParallelConfig::Order::fixed)
    made.costs = std::make_unique<MeasuredCosts>(
        made.device(), *made.backend,
        MeasuredCosts::Options{cache_folder(kernels.cache), processor_name() + ", " TROIKA_BUILD,
                               std::move(known.given), known.measures_anew});
  return made;
}

}  // namespace troika
