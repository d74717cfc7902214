#include "machine/this_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/cores.h"
#include "machine/cluster.h"
#include "machine/limits.h"

namespace troika {
namespace {

/// What one core of a recent processor does, and what a device draws from memory.
constexpr double kFlopsPerCore = 5e10;
constexpr double kBytesPerSecond = 1e10;

std::int64_t core_count(const CgroupLimits& limits) {
  auto usable = static_cast<std::int64_t>(usable_cores().size());
  if (usable == 0) usable = std::max(1u, std::thread::hardware_concurrency());
  if (limits.cores) usable = std::min(usable, whole_cores(*limits.cores));
  return usable;
}

}  // namespace

std::int64_t whole_cores(const CoreLimit& limit) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(limit.cores));
}

Bytes computer_memory() {
  std::ostringstream text;
  text << std::ifstream("/proc/meminfo").rdbuf();
  Bytes memory = total_memory(text.str());
  return std::min(memory, address_space_limit().value_or(memory));
}

Bytes total_memory(const std::string& meminfo) {
  constexpr std::string_view kLine = "MemTotal:";
  std::size_t at = meminfo.find(kLine);
  if (at == std::string::npos) return {};
  at = meminfo.find_first_not_of(' ', at + kLine.size());
  std::int64_t kibibytes = 0;
  if (at != std::string::npos)
    std::from_chars(meminfo.data() + at, meminfo.data() + meminfo.size(), kibibytes);
  return {kibibytes * 1024};
}

Machine this_machine(std::int64_t devices, std::int64_t threads) {
  CgroupLimits limits = read_cgroup_limits();
  if (threads == 0) threads = std::max<std::int64_t>(1, core_count(limits) / devices);
  Bytes memory = computer_memory();
  if (limits.memory) memory = std::min(memory, limits.memory->left());
  NodeSpec node{.name = "here",
                .devices = devices,
                .kind = fmt::format("cpu {} threads", threads),
                .memory = {memory.count / devices},
                .flops_per_second = kFlopsPerCore * static_cast<double>(threads),
                .bytes_per_second = kBytesPerSecond};
  return make_machine({.name = "this machine", .nodes = {node}, .node_link = {1e10, {150}}});
}

}  // namespace troika
