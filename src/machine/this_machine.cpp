#include "machine/this_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/cores.h"
#include "machine/cluster.h"

namespace troika {
namespace {

/// What one core of a recent processor does, and what a device draws from memory.
constexpr double kFlopsPerCore = 5e10;
constexpr double kBytesPerSecond = 1e10;

std::int64_t core_count() {
  auto usable = static_cast<std::int64_t>(usable_cores().size());
  return usable > 0 ? usable : std::max(1u, std::thread::hardware_concurrency());
}

std::string meminfo() {
  std::ostringstream text;
  text << std::ifstream("/proc/meminfo").rdbuf();
  return text.str();
}

}  // namespace

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
  if (threads == 0) threads = std::max<std::int64_t>(1, core_count() / devices);
  NodeSpec node{.name = "here",
                .devices = devices,
                .kind = fmt::format("cpu {} threads", threads),
                .memory = {total_memory(meminfo()).count / devices},
                .flops_per_second = kFlopsPerCore * static_cast<double>(threads),
                .bytes_per_second = kBytesPerSecond};
  return make_machine({.name = "this machine", .nodes = {node}, .node_link = {1e10, {150}}});
}

}  // namespace troika
