#include "base/cores.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace troika {

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  // The process id is the id of the main thread, whose mask no executor changes.
  if (sched_getaffinity(getpid(), sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

int cores_of_machine() {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? static_cast<int>(cores) : 0;
}

void bind_to_core(int index, const std::vector<int>& cores) {
  if (cores.empty()) return;
  bind_to_cores({cores[static_cast<std::size_t>(index) % cores.size()]});
}

void bind_to_cores(const std::vector<int>& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) CPU_SET(core, &set);
  // A failure is ignored: an unbound thread may be slower, but it is correct.
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

}  // namespace troika
