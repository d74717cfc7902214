#include "cli/limit_facts.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/cores.h"
#include "base/units.h"
#include "cli/process_setup.h"
#include "machine/limits.h"
#include "setup/hosts.h"

namespace troika::cli {
namespace {

std::string memory_limit_text(const CgroupLimits& limits) {
  if (!limits.memory) return "none";
  return fmt::format("{} by {}, {} of it in use", to_string(limits.memory->limit),
                     limits.memory->file, to_string(limits.memory->in_use));
}

std::string core_limit_text(const CgroupLimits& limits) {
  if (!limits.cores) return "none";
  return fmt::format("{:g} cores by {}", limits.cores->cores, limits.cores->file);
}

/// "0-3,8"
std::string ranges_text(const std::vector<int>& cores) {
  std::string text;
  for (std::size_t at = 0; at < cores.size();) {
    std::size_t end = at + 1;
    while (end < cores.size() && cores[end] == cores[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", cores[at]);
    if (end > at + 1) text += fmt::format("-{}", cores[end - 1]);
    at = end;
  }
  return text;
}

std::string affinity_text() {
  std::vector<int> cores = usable_cores();
  if (cores.empty()) return "unknown";
  return fmt::format("{} of {} cores ({})", cores.size(), cores_of_machine(), ranges_text(cores));
}

std::string openmp_text() {
  std::string text;
  for (const char* name : {"OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_WAIT_POLICY",
                           "OMP_PROC_BIND", "OMP_PLACES", "GOMP_SPINCOUNT", "GOMP_CPU_AFFINITY"})
    if (const char* value = std::getenv(name)) {
      bool is_ours =
          name == std::string_view("GOMP_SPINCOUNT") && value == std::string_view(kSpinCount);
      text += fmt::format("{}{}={}{}", text.empty() ? "" : " ", name, value,
                          is_ours ? " (troika's default)" : "");
    }
  return text.empty() ? "not set" : text;
}

std::string ulimit_text(decltype(RLIMIT_AS) kind, bool is_bytes) {
  rlimit limit{};
  if (getrlimit(kind, &limit) != 0) return "unknown";
  if (limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  auto count = static_cast<std::int64_t>(limit.rlim_cur);
  return is_bytes ? to_string(Bytes{count}) : with_commas(count);
}

std::string ulimits_text() {
  return fmt::format(
      "address space {}, file size {}, locked memory {}, stack {}, open files {}, processes {}, "
      "CPU seconds {}",
      ulimit_text(RLIMIT_AS, true), ulimit_text(RLIMIT_FSIZE, true),
      ulimit_text(RLIMIT_MEMLOCK, true), ulimit_text(RLIMIT_STACK, true),
      ulimit_text(RLIMIT_NOFILE, false), ulimit_text(RLIMIT_NPROC, false),
      ulimit_text(RLIMIT_CPU, false));
}

}  // namespace

std::vector<Fact> limit_facts(const std::filesystem::path& root) {
  CgroupLimits limits = read_cgroup_limits(root);
  return {{"cgroup memory", memory_limit_text(limits)},
          {"cgroup cpu", core_limit_text(limits)},
          {"affinity", affinity_text()},
          {"OpenMP variables", openmp_text()},
          {"ulimits", ulimits_text()},
          {"threads = \"auto\"", fmt::format("{} for all devices of a process", usable_threads())}};
}

}  // namespace troika::cli
