#include "train/hosts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "base/cores.h"
#include "machine/this_machine.h"

namespace troika {
namespace {

/// A computer, as all ranks on it say together.
struct Computer {
  int node = 0;
  int devices = 0;
  std::set<int> cores;
  Bytes memory{};

  void add(const RankHost& host, int devices_per_rank) {
    memory = devices == 0 ? host.memory : std::min(memory, host.memory);
    devices += devices_per_rank;
    cores.insert(host.cores.begin(), host.cores.end());
  }
  /// Ranks that are bound have their cores alone, others share them.
  int threads() const { return std::max(1, static_cast<int>(cores.size()) / devices); }
  Bytes memory_of_device() const { return {memory.count / devices}; }
};

std::string to_text(const RankHost& host) {
  return fmt::format("{} {} {} {}", host.memory.count, host.cores.size(),
                     fmt::join(host.cores, " "), host.name);
}

RankHost parse_host(const std::string& text) {
  RankHost host;
  std::istringstream words(text);
  std::size_t cores = 0;
  words >> host.memory.count >> cores;
  host.cores.resize(cores);
  for (int& core : host.cores) words >> core;
  words >> host.name;
  return host;
}

/// All of them, where the system does not tell which this process may use.
std::vector<int> own_cores() {
  std::vector<int> cores = usable_cores();
  if (!cores.empty()) return cores;
  cores.resize(static_cast<std::size_t>(std::max(1, cores_of_machine())));
  std::iota(cores.begin(), cores.end(), 0);
  return cores;
}

}  // namespace

HostShares share_hosts(const std::vector<RankHost>& hosts, int own, int devices_per_rank) {
  HostShares shares;
  std::map<std::string, Computer> computers;
  for (const RankHost& host : hosts) {
    int next = static_cast<int>(computers.size());
    Computer& computer = computers.try_emplace(host.name, Computer{next}).first->second;
    computer.add(host, devices_per_rank);
    shares.node_of_rank.push_back(computer.node);
  }
  const Computer& here = computers.at(hosts[static_cast<std::size_t>(own)].name);
  shares.cores = static_cast<int>(here.cores.size());
  shares.devices = here.devices;
  shares.threads = here.threads();
  shares.memory = here.memory_of_device();
  for (const auto& [name, computer] : computers) {
    shares.threads = std::min(shares.threads, computer.threads());
    shares.memory = std::min(shares.memory, computer.memory_of_device());
  }
  return shares;
}

HostShares meet_hosts(Ranks* ranks, int devices_per_rank) {
  RankHost own{.cores = own_cores()};
  own.memory = this_machine(1, std::ssize(own.cores)).devices.at(0).memory;
  if (ranks == nullptr) return share_hosts({own}, 0, devices_per_rank);
  own.name = ranks->host();
  std::vector<RankHost> hosts;
  for (const std::string& text : ranks->exchange(to_text(own))) hosts.push_back(parse_host(text));
  return share_hosts(hosts, ranks->rank(), devices_per_rank);
}

}  // namespace troika
