#include "setup/device_counts.h"

#include <fmt/format.h>

#include <algorithm>

#include "setup/hosts.h"
#include "setup/runtime_setup.h"

namespace troika {

std::vector<std::int64_t> device_counts_here(const RunConfig& config) {
  std::int64_t cores = usable_threads();
  if (config.parallel.threads) cores = std::max<std::int64_t>(1, cores / *config.parallel.threads);
  std::vector<std::int64_t> counts;
  for (std::int64_t count = 1; count <= std::min(cores, config.train.global_batch); ++count)
    if (cores % count == 0) counts.push_back(count);
  return counts;
}

Machine machine_here(const KernelsConfig& kernels, const ParallelConfig& parallel) {
  HostShares shares = meet_hosts(sole_rank(), static_cast<int>(parallel.devices));
  ParallelConfig one{.devices = 1, .threads = parallel.threads.value_or(shares.threads)};
  RuntimeSetup setup = set_up_runtime(kernels, one);
  Machine machine;
  for (std::int64_t at = 0; at < parallel.devices; ++at)
    machine.devices.push_back({.name = fmt::format("cpu{}", at),
                               .kind = setup.device().kind(),
                               .memory = parallel.memory.value_or(shares.memory)});
  return machine;
}

std::vector<Machine> machines_here(const RunConfig& config) {
  std::vector<Machine> machines;
  ParallelConfig parallel = config.parallel;
  for (std::int64_t devices : device_counts_here(config)) {
    parallel.devices = devices;
    machines.push_back(machine_here(config.kernels, parallel));
  }
  return machines;
}

}  // namespace troika
